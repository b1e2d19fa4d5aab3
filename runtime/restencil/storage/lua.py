"""Lua scripts that a Valkey or Redis server runs for a storage, each atomically.

Each but `BEGIN` gets the epoch that its caller knows, and returns only the epoch of the server if that differs. A
script reads everything before it writes anything, since writes before an error are not undone. Numbers are passed as
strings, since some have more digits than a script prints.

A sorted set that lists keys also contains a *mark*, a member that is no string, so that it exists even if it lists
nothing. If such a set does not exist although it was created, the server has evicted it: the keys that it listed cannot
be found, and a script returns `lost`. The same is true of the hash of stale marks, which has an empty field for this.
"""

from __future__ import annotations

from typing import Final

MARK: Final = b"\xff"
"""The mark of a sorted set: no string is encoded so, and it sorts after all strings."""

_HELP: Final = r"""
local MARK = '\255'
local function digits(number) return string.format('%.0f', number) end
local function number(text) return tonumber(text or '') or 0 end
local function is_there(set) return #redis.call('ZRANGEBYSCORE', set, '-inf', '+inf', 'LIMIT', 0, 1) > 0 end
local function has_marks(begun, marks) return not begun or redis.call('HMGET', marks, '')[1] end
local function append(list, more) for _, item in ipairs(more) do list[#list + 1] = item end end
-- Calls a command with some of a list at a time: Lua makes no call of more than some thousands of arguments.
local function call(list, command, key)
  local found = {}
  for from = 1, #list, 1000 do
    local words = {unpack(list, from, math.min(from + 999, #list))}
    if key then table.insert(words, 1, key) end
    local given = redis.call(command, unpack(words))
    if type(given) == 'table' then append(found, given) end
  end
  return found
end
"""

_KNOWN: Final = _HELP + """
local info = redis.call('HMGET', KEYS[1], 'epoch', 'reset', 'n')
if info[1] ~= ARGV[1] then return {info[1], info[2], info[3]} end
"""

BEGIN: Final = _HELP + """
-- KEYS: info.    ARGV: namespace; epoch and reset that the caller knows; format; why: '', 'reset' or 'lost'; place.
-- Answers: epoch, reset, number, the server's microseconds, format, and the epoch that ended here or ''.
local info = redis.call('HMGET', KEYS[1], 'epoch', 'reset', 'n', 'format')
local time = redis.call('TIME')
local moment = time[1] .. string.format('%06d', number(time[2]))
local old, reset, format = number(info[1]), number(info[2]), number(info[4])
local known, wiped, mine, why = number(ARGV[2]), number(ARGV[3]), number(ARGV[4]), ARGV[5]
if format > mine then return {digits(old), digits(reset), info[3] or '0', moment, digits(format), ''} end
local wipe = why == 'reset' or (old > 0 and wiped > old)  -- the second: a failover lost a reset that the caller knows
if wipe or old == 0 or format < mine or (why == 'lost' and known == old) then
  local epoch = math.max(old + 1, known + 1, wiped + 1, math.floor(number(moment) / 1000))
  if wipe then reset = epoch else reset = math.max(reset, wiped) end
  redis.call('UNLINK', KEYS[1])
  redis.call('HSET', KEYS[1], 'epoch', digits(epoch), 'reset', digits(reset), 'n', '0', 'format', ARGV[4],
      'place', ARGV[6])
  if old > 0 then  -- whoever waits for its entries wakes
    redis.call('XADD', ARGV[1] .. ':' .. digits(old) .. ':log', 'NOMKSTREAM', digits(number(info[3]) + 1) .. '-0',
        'over', digits(epoch))
  end
  return {digits(epoch), digits(reset), '0', moment, ARGV[4], old > 0 and digits(old) or ''}
end
if wiped > reset then
  reset = wiped
  redis.call('HSET', KEYS[1], 'reset', digits(reset))
end
return {digits(old), digits(reset), info[3] or '0', moment, ARGV[4], ''}
"""

LOAD: Final = _KNOWN + """
-- KEYS: info; rows and results; the hashes of an index; the hash of marks.
-- ARGV: epoch; count of rows and results; tables: count, names; of each hash and of that of marks: count, values.
-- Answers: epoch, reset, number, lengths of the texts, all texts as one, versions of the tables, for each of them '1'
-- where rows of it were lost, what each hash gives, that of marks as the last; or 'lost'.
-- A client takes in one long text faster than a thousand short ones. (Benchmark: a list of 1,000 that memory lacks.)
if not has_marks(redis.call('HMGET', KEYS[1], 'marks')[1], KEYS[#KEYS]) then
  return {info[1], info[2], info[3], 'lost'}
end
local count, at = number(ARGV[2]), 3
local lengths, texts = {}, {}
for i, text in ipairs(call({unpack(KEYS, 2, count + 1)}, 'MGET')) do
  texts[i] = text or ''
  lengths[i] = text and #text or 0
end
local function taken(prefix)
  local found = {}
  for i = 1, number(ARGV[at]) do found[i] = prefix .. ARGV[at + i] end
  at = at + 1 + #found
  return found
end
local tables, losses = taken('v:'), {}
for i, name in ipairs(tables) do losses[i] = 'l' .. string.sub(name, 2) end
local versions, lost = call(tables, 'HMGET', KEYS[1]), call(losses, 'HMGET', KEYS[1])
local index = {}
for i = count + 2, #KEYS do index[#index + 1] = call(taken(''), 'HMGET', KEYS[i]) end
return {info[1], info[2], info[3], table.concat(lengths, ' '), table.concat(texts), versions, lost, index}
"""

PAGE: Final = _KNOWN + """
-- KEYS: info, a set.    ARGV: epoch; the field of info that says it was begun; a command that reads it, and its rest.
-- Answers: epoch, reset, number, 'done', what the command gives; or 'lost'.
local begun = redis.call('HMGET', KEYS[1], ARGV[2])[1]
if begun and not is_there(KEYS[2]) then return {info[1], info[2], info[3], 'lost'} end
return {info[1], info[2], info[3], 'done', redis.call(ARGV[3], KEYS[2], unpack(ARGV, 4))}
"""

SIFT: Final = _KNOWN + """
-- Takes members out of a set whose rows or results have expired.
-- KEYS: info; the set; the keys of its members.
-- ARGV: epoch; the field that counts what is there; the table, or '' for results; the members.
-- Answers: epoch, reset, number, 'done', for each member '1' or '', and how many were taken out.
local texts = redis.call('MGET', unpack(KEYS, 3))
local gone, living = {}, {}
for i = 1, #KEYS - 2 do
  living[i] = texts[i] and '1' or ''
  if not texts[i] then gone[#gone + 1] = ARGV[3 + i] end
end
local left = #gone > 0 and redis.call('ZREM', KEYS[2], unpack(gone)) or 0
if left > 0 then
  local held = redis.call('HMGET', KEYS[1], 'rows', 'results', 'bytes')
  local bytes, all = number(held[3]), math.max(1, number(held[1]) + number(held[2]))
  redis.call('HINCRBY', KEYS[1], 'bytes', digits(-math.min(bytes, math.floor(bytes / all * left))))
  redis.call('HINCRBY', KEYS[1], ARGV[2], -left)
  if ARGV[3] ~= '' then
    redis.call('HINCRBY', KEYS[1], 'v:' .. ARGV[3], 1)
    redis.call('HSET', KEYS[1], 'l:' .. ARGV[3], '1')
  end
end
return {info[1], info[2], info[3], 'done', living, left}
"""

CHANGES: Final = _KNOWN + """
-- KEYS: info, log.    ARGV: epoch, the first id, how many at most.    Answers: epoch, reset, number, entries.
return {info[1], info[2], info[3], redis.call('XRANGE', KEYS[2], ARGV[2], '+', 'COUNT', ARGV[3])}
"""

LEASE: Final = _KNOWN + """
-- KEYS: info, leases.    ARGV: epoch, length in ms, the owner of each.
-- Answers: epoch, reset, number, for each '1' or ''.
local lasting, mine = number(ARGV[2]) > 0, {}
for i = 1, #KEYS - 1 do
  local name, owner = KEYS[1 + i], ARGV[2 + i]
  local holder = redis.call('GET', name)
  mine[i] = ''
  if not holder or holder == owner then
    if lasting then
      redis.call('SET', name, owner, 'PX', ARGV[2])
      mine[i] = '1'
    elseif holder then
      redis.call('UNLINK', name)
    end
  end
end
return {info[1], info[2], info[3], mine}
"""

COMMIT: Final = _HELP + r"""
-- KEYS: info, log, the list of sets and hashes, the set of keys, the writer's last commit, the marks; then, in the
-- order of ARGV: sets of tables, hashes, leases, what was used, what is dropped, rows, results.
-- ARGV: epoch; time that a value, a tombstone and a list is kept, in ms or '0' for ever; history; writer; entry, or ''
-- where nothing is written; id of the commit, or '0'; then counts, each followed by so many items:
--   tables: name, version or '', '1' where all of it was told, '2' where something was left out, '3' where both are;
--   hashes: name, count, value and pk;
--   leases;    used;    dropped: number of its table or '0', member;    rows: number of its table, pk, rev, text;
--   results: key, date, text;    spared: mark, number, count of the marks against it, these;    marks.
-- Answers: epoch, reset, number, and 'lost'; 'late'; 'moved', rows by number with their texts, versions of tables; or
-- 'done'.
--
-- The writer's last commit is its id, and the number that it got: 0 where it moved, for the writer makes another commit
-- of it then, so what comes late of this one is not written.
local keep, keep_tombstone, keep_list = number(ARGV[2]), number(ARGV[3]), number(ARGV[4])
local id = number(ARGV[8])
local at, key = 8, 6
local function take() at = at + 1 return ARGV[at] end
local function take_key() key = key + 1 return KEYS[key] end
local function taken(read)
  local found = {}
  for i = 1, number(take()) do found[i] = read() end
  return found
end
local tables = taken(function()
  local it = {set = take_key(), name = take(), wanted = take(), added = {}, lost = {}}
  local how = number(take())
  it.told, it.lacks = how % 2 == 1, how >= 2
  return it
end)
local hashes = taken(function()
  local hash = {key = take_key(), name = take(), put = {}}
  for _ = 1, number(take()) do append(hash.put, {take(), take()}) end
  return hash
end)
local leases = taken(take_key)
local used = taken(take_key)
local dropped = taken(function() return {key = take_key(), table = tables[number(take())], member = take()} end)
local rows = taken(function()
  return {key = take_key(), table = tables[number(take())], pk = take(), rev = take(), text = take()}
end)
local results = taken(function() return {key = take_key(), name = take(), date = number(take()), text = take()} end)

local spared = taken(function() return {mark = take(), known = number(take()), against = taken(take)} end)
local marks = taken(take)

-- What is there.
local fields = {'epoch', 'reset', 'n', 'keys', 'born', 'kept', 'touched', 'marks'}
for i, it in ipairs(tables) do fields[8 + i] = 'v:' .. it.name end
local info = call(fields, 'HMGET', KEYS[1])
if info[1] ~= ARGV[1] then return {info[1], info[2], info[3]} end
local last_id, last_number = string.match(id > 0 and redis.call('GET', KEYS[5]) or '', '^(%d+) (%d+)$')
if number(last_id) > id then return {info[1], info[2], info[3], 'late'} end
local is_again = number(last_id) == id and id > 0
if is_again and last_number ~= '0' then return {info[1], info[2], last_number, 'done'} end
local function remember(result)
  if id > 0 then redis.call('SET', KEYS[5], ARGV[8] .. ' ' .. result, 'PX', 86400000) end
end
local lost = info[4] and not is_there(KEYS[4]) or not has_marks(info[8], KEYS[6])
for i, it in ipairs(tables) do
  it.version = info[8 + i]
  if it.version and not is_there(it.set) then lost = true end
end
if lost then return {info[1], info[2], info[3], 'lost'} end
local places = {}
for _, list in ipairs({dropped, rows, results}) do append(places, list) end
local names = {}
for i, place in ipairs(places) do names[i] = place.key end
local texts = call(names, 'MGET')
for i, place in ipairs(places) do place.was = texts[i] end

-- What is not as the batch says.
local moved, versions = {}, {}
for i, row in ipairs(rows) do
  local rev = string.match(row.was or '', '^(%d+) %d+ ')
  if not rev then row.was = false end
  if row.rev ~= (rev or '0') then append(moved, {digits(i), row.was or ''}) end
end
local as_said = #moved == 0 and not is_again
for _, it in ipairs(tables) do
  versions[#versions + 1] = it.version or '0'
  if it.wanted ~= '' and it.wanted ~= (it.version or '0') then as_said = false end
end
if not as_said then
  remember('0')
  return {info[1], info[2], info[3], 'moved', moved, versions}
end

-- Writing. The first write is one that a server without memory refuses.
local n = info[3] or '0'
local counts = {rows = 0, results = 0, bytes = 0}
local begun = {}
local function begin(name, set)
  redis.call('ZADD', set, 0, MARK)
  begun[#begun + 1] = name
end
local function put(place, text)
  local kept = string.sub(text, -1) == '\n' and place.pk and keep_tombstone or keep
  if kept > 0 then redis.call('SET', place.key, text, 'PX', ARGV[kept == keep and 2 or 3])
  else redis.call('SET', place.key, text) end
  counts.bytes = counts.bytes + #text - #(place.was or '')
end
local writes = ARGV[7] ~= ''
if writes then
  n = digits(redis.call('HINCRBY', KEYS[1], 'n', 1))
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[5], n .. '-0', 'w', ARGV[6], 'e', ARGV[7])
end
local gone = {}
for _, place in ipairs(dropped) do
  if place.was then
    gone[place.key] = true
    redis.call('UNLINK', place.key)
    counts.bytes = counts.bytes - #place.was
    if place.table then
      append(place.table.lost, {place.member})
      counts.rows = counts.rows - 1
    else
      redis.call('ZREM', KEYS[4], place.member)
      counts.results = counts.results - 1
    end
  end
end
for _, it in ipairs(tables) do
  call(it.lost, 'ZREM', it.set)
end
local born = number(info[5])
for _, row in ipairs(rows) do
  if gone[row.key] then row.was = false end
  local since = row.was and string.match(row.was, '^%d+ (%d+) ')
  if not since then
    born = born + 1
    since = digits(born)
    append(row.table.added, {since, row.pk})
    counts.rows = counts.rows + 1
  end
  put(row, n .. ' ' .. since .. row.text)
end
for _, result in ipairs(results) do
  if gone[result.key] then result.was = false end
  local date = result.was and string.match(result.was, '^%d+ %d %S+ (%S+) ')
  if not date or number(date) <= result.date then
    if not result.was then
      if not info[4] then
        begin('k', KEYS[4])
        redis.call('HSET', KEYS[1], 'keys', '1')
        info[4] = '1'
      end
      redis.call('ZADD', KEYS[4], 0, result.name)
      counts.results = counts.results + 1
    end
    put(result, n .. result.text)
  end
end
for _, it in ipairs(tables) do
  if #it.added > 0 or #it.lost > 0 or (it.told and not it.version) then
    if not it.version then begin('t:' .. it.name, it.set) end
    call(it.added, 'ZADD', it.set)
    redis.call('HINCRBY', KEYS[1], 'v:' .. it.name, 1)
  end
  if it.lacks or #it.lost > 0 then redis.call('HSET', KEYS[1], 'l:' .. it.name, '1')
  elseif it.told then redis.call('HDEL', KEYS[1], 'l:' .. it.name) end
end
for _, hash in ipairs(hashes) do
  call(hash.put, 'HSET', hash.key)
  if redis.call('ZADD', KEYS[3], 0, 'x:' .. hash.name) > 0 then begun[#begun + 1] = 'x:' .. hash.name end
end
if born > number(info[5]) then redis.call('HSET', KEYS[1], 'born', digits(born)) end
for name, count in pairs(counts) do
  if count ~= 0 then redis.call('HINCRBY', KEYS[1], name, digits(count)) end
end
for _, it in ipairs(spared) do
  local known = math.max(it.known, number(redis.call('HMGET', KEYS[6], it.mark)[1]))
  local holds = true
  for _, other in ipairs(it.against) do
    if number(redis.call('HMGET', KEYS[6], other)[1]) > known then holds = false end
  end
  if holds then redis.call('HSET', KEYS[6], it.mark, n) end
end
for _, mark in ipairs(marks) do redis.call('HSET', KEYS[6], mark, n) end
if #marks > 0 and not info[8] then
  redis.call('HSET', KEYS[1], 'marks', '1')
  redis.call('HSET', KEYS[6], '', '1')
  begun[#begun + 1] = 's'
end
if writes then remember(n) end
for _, name in ipairs(leases) do redis.call('UNLINK', name) end
if keep > 0 then
  for _, name in ipairs(used) do redis.call('PEXPIRE', name, ARGV[2]) end
end

-- Lists live longer than all that they list: for the longest time of any client and an eighth, now and then anew.
local space, kept = string.sub(KEYS[3], 1, -2), number(info[6])
local longer = not info[6] or (kept > 0 and (keep_list == 0 or keep_list > kept))
if longer then
  kept = keep_list
  redis.call('HSET', KEYS[1], 'kept', ARGV[4])
end
for _, name in ipairs(begun) do
  if name ~= 'k' then redis.call('ZADD', KEYS[3], 0, name) end
  if kept > 0 then redis.call('PEXPIRE', space .. name, digits(kept)) end
end
local moment = number(redis.call('TIME')[1]) * 1000
if kept > 0 and moment - number(info[7]) > kept / 16 or longer and (kept > 0 or info[6]) then
  redis.call('HSET', KEYS[1], 'touched', digits(moment))
  local sets = redis.call('ZRANGEBYLEX', KEYS[3], '-', '+')
  for i, name in ipairs(sets) do sets[i] = space .. name end
  append(sets, {KEYS[2], KEYS[3], KEYS[4]})
  for _, set in ipairs(sets) do redis.call('PEXPIRE', set, kept > 0 and digits(kept) or '3153600000000') end
end
return {info[1], info[2], n, 'done'}
"""
