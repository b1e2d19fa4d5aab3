// A Fastify application with its defaults: JSON bodies are checked, a DELETE may have none, answers have a schema.
import { randomUUID } from 'node:crypto'
import Fastify from 'fastify'

const app = Fastify()
const notes = new Map()
const body = {
  type: 'object',
  required: ['text'],
  properties: {
    text: { type: 'string', maxLength: 20 },
    isPinned: { type: 'boolean' },
    dueAt: { type: ['string', 'null'] },
    tags: { type: 'array', items: { type: 'string' } }
  }
}
const patch = { ...body, required: [] }

function write (id, given) {
  const note = { id, text: '', isPinned: false, tags: [], ...given, id }
  note.createdAt = notes.get(id)?.createdAt ?? new Date().toISOString()
  notes.set(id, note)
  return note
}

function found (request, reply) {
  const note = notes.get(request.params.id)
  if (note === undefined) reply.callNotFound()
  return note
}

app.post('/reset', (request, reply) => {
  notes.clear()
  for (let number = 1; number <= 10; number++) {
    write(`00000000-0000-4000-8000-0000000000${10 + number}`, {
      text: `Note ${number}`, isPinned: number % 3 === 0, tags: ['a'], dueAt: '2026-02-01T00:00:00.000Z'
    })
  }
  reply.code(204).send()
})

app.get('/notes', (request) => {
  const { isPinned, after, limit = '4' } = request.query
  const all = [...notes.values()].filter((note) => isPinned === undefined || String(note.isPinned) === isPinned)
  const start = after === undefined ? 0 : all.findIndex((note) => note.id === after) + 1
  const items = all.slice(start, start + Number(limit))
  const hasMore = start + items.length < all.length
  return { items, totalCount: all.length, hasMore, nextCursor: hasMore ? items.at(-1).id : null }
})

app.get('/notes/:id', (request, reply) => found(request, reply))

// Created without a word but where it is.
app.post('/notes', { schema: { body } }, (request, reply) => {
  const note = write(randomUUID(), request.body)
  reply.code(201).header('location', `/notes/${note.id}`).send()
})

app.put('/notes/:id', { schema: { body } }, (request, reply) => {
  if (found(request, reply) === undefined) return reply
  write(request.params.id, request.body)
  return reply.code(204).send()
})

app.patch('/notes/:id', { schema: { body: patch } }, (request, reply) => {
  const note = found(request, reply)
  return note === undefined ? reply : write(request.params.id, { ...note, ...request.body })
})

app.delete('/notes/:id', (request, reply) => {
  if (found(request, reply) === undefined) return reply
  notes.delete(request.params.id)
  return reply.code(204).send()
})

// What an application can do by mistake: an object where a list is declared, and the other way round.
app.get('/odd', () => ({ error: 'try later' }))
app.get('/odd/:id', () => [])
app.post('/odd', () => '')

console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
