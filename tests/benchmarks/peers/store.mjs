// The store jobs of the JavaScript peers. It is copied beside the packages that it imports.
import { readFileSync } from "node:fs";
import { MemoCache, normalize } from "@data-client/normalizr";
import { Controller, createReducer, createSet, initialState } from "@data-client/core";
import { Endpoint, Entity as CoreEntity, schema as coreSchema } from "@data-client/endpoint";
import { Entity } from "./entity.mjs";
import { serve, timed } from "./serve.mjs";

const core = await import("./node_modules/@data-client/core/node_modules/@data-client/normalizr/node.mjs");

function schemas(Base) {
  class BuildType extends Base {
    id = "";
    internalId = "";
    name = "";
    type = "";
    paused = false;
    projectId = "";
    description = "";
    pk() {
      return this.id;
    }
    static get key() {
      return "BuildType";
    }
  }
  class Project extends Base {
    id = "";
    internalId = "";
    name = "";
    parentProjectId = "";
    archived = false;
    description = "";
    buildTypes = { buildType: [] };
    static schema = { buildTypes: { buildType: [BuildType] } };
    pk() {
      return this.id;
    }
    static get key() {
      return "Project";
    }
  }
  return { Project, all: { project: [Project] } };
}

const ours = schemas(Entity);
const theirs = schemas(CoreEntity);
const meta = { fetchedAt: 1, date: 1, expiresAt: Infinity };
const empty = () => ({ entities: {}, indexes: {}, entitiesMeta: {} });

class Item extends CoreEntity {
  id = "";
  title = "";
  a = 0;
  b = "";
  c = false;
  d = null;
  pk() {
    return `${this.id}`;
  }
  static get key() {
    return "Item";
  }
}

const item = (id, title) => ({ id, title, a: 1, b: "text", c: true, d: null });
const collection = new coreSchema.Collection([Item]);
const getItems = new Endpoint(async () => {}, { schema: collection, key: () => "GET /items", name: "list" });
const pushItems = new Endpoint(async () => {}, {
  schema: collection.push,
  key: () => "POST /items",
  name: "push",
  sideEffect: true,
});

function stored(count) {
  const controller = new Controller({});
  const reduce = createReducer(controller);
  const response = Array.from({ length: count }, (_, i) => item(i, `item ${i}`));
  const state = reduce(initialState, createSet(getItems, { args: [{}], response }));
  return { controller, reduce, state };
}

const instant = (value) => new Date(value);

class Event extends CoreEntity {
  id = "";
  name = "";
  starts_at = new Date(0);
  ends_at = new Date(0);
  static schema = { starts_at: instant, ends_at: instant };
  pk() {
    return `${this.id}`;
  }
  static get key() {
    return "Event";
  }
}

const getEvent = new Endpoint(async () => {}, { schema: Event, key: ({ id }) => `GET /events/${id}`, name: "event" });
const getEvents = new Endpoint(async () => {}, {
  schema: new coreSchema.Collection([Event]),
  key: () => "GET /events",
  name: "events",
});
function events(count) {
  const controller = new Controller({});
  const reduce = createReducer(controller);
  const moment = "2026-05-06T07:08:09Z";
  const response = Array.from({ length: count }, (_, id) => ({ id, name: "Event", starts_at: moment, ends_at: moment }));
  return { reduce, state: reduce(initialState, createSet(getEvents, { args: [{}], response })) };
}

function keys(count) {
  const controller = new Controller({});
  const reduce = createReducer(controller);
  const results = {};
  const known = {};
  for (let i = 0; i < count; i++) {
    results[`GET /items/${i}`] = `${i}`;
    known[`GET /items/${i}`] = { date: 1, expiresAt: 9e15, prevExpiresAt: undefined };
  }
  return { controller, reduce, state: { ...initialState, results, meta: known } };
}

const jobs = {
  "empty": ({ file }) => {
    const data = JSON.parse(readFileSync(file, "utf8"));
    return timed(() => normalize(ours.all, data, [], empty(), meta));
  },
  "cold, core": ({ file }) => {
    const full = core.normalize(JSON.parse(readFileSync(file, "utf8")), theirs.all, [], {}, {}, {}, meta);
    return timed(() => core.denormalizeCached(full.result, theirs.all, full.entities, {}, new core.WeakEntityMap(), []));
  },
  "warm": ({ file }) => {
    const full = normalize(ours.all, JSON.parse(readFileSync(file, "utf8")), [], empty(), meta);
    const memo = new MemoCache();
    memo.denormalize(ours.all, full.result, full.entities);
    return timed(() => memo.denormalize(ours.all, full.result, full.entities));
  },
  "warm after a write": ({ file }) => {
    const full = normalize(ours.all, JSON.parse(readFileSync(file, "utf8")), [], empty(), meta);
    const memo = new MemoCache();
    memo.denormalize(ours.all, full.result, full.entities);
    let turn = 0;
    return timed(() => {
      const entities = { ...full.entities, Other: { 1: { id: 1, turn: turn++ } } };
      memo.denormalize(ours.all, full.result, entities);
    });
  },
  "cached with datetimes": ({ count }) => {
    const { state } = events(count);
    return timed(() => {
      const controller = new Controller({});
      for (let id = 0; id < count; id++) controller.getResponse(getEvent, { id }, state);
    });
  },
  "push": ({ count }) => {
    const { reduce, state } = stored(count);
    let turn = 0;
    return timed(() => {
      const start = count + 10 * turn++;
      const response = Array.from({ length: 10 }, (_, i) => item(start + i, "new"));
      reduce(state, createSet(pushItems, { args: [{}], response }));
    });
  },
  "invalidate_all": ({ count }) => {
    const { controller, reduce, state } = keys(count);
    return timed(() => reduce(state, { type: "rdc/invalidateall", testKey: (key) => key.startsWith("GET ") }));
  },
};

await serve(jobs);
