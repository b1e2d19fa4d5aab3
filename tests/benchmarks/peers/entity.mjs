// The entity of data-client's newer normalizr, whose registry package comes without one: written to the interfaces
// that the package declares (EntityInterface, Mergeable, INormalizeDelegate), with its documented defaults.
import { INVALID } from "@data-client/normalizr";

export class Entity {
  static schema = {};

  static get key() {
    return this.name;
  }

  static pk(value, parent, key, args) {
    return this.prototype.pk.call(value, parent, key, args);
  }

  pk() {
    return this.id;
  }

  static process(input) {
    return { ...input };
  }

  static validate() {}

  static shouldUpdate() {
    return true;
  }

  static shouldReorder(existingMeta, incomingMeta) {
    return incomingMeta.fetchedAt < existingMeta.fetchedAt;
  }

  static merge(existing, incoming) {
    return { ...existing, ...incoming };
  }

  static mergeWithStore(existingMeta, incomingMeta, existing, incoming) {
    if (!this.shouldUpdate(existingMeta, incomingMeta, existing, incoming)) return existing;
    if (typeof incoming !== typeof existing) return incoming;
    return this.shouldReorder(existingMeta, incomingMeta, existing, incoming)
      ? this.merge(incoming, existing)
      : this.merge(existing, incoming);
  }

  static mergeMetaWithStore(existingMeta, incomingMeta, existing, incoming) {
    return this.shouldReorder(existingMeta, incomingMeta, existing, incoming) ? existingMeta : incomingMeta;
  }

  static normalize(input, parent, key, delegate) {
    const record = this.process(input, parent, key, delegate.args);
    const pk = this.pk(record, parent, key, delegate.args);
    if (pk === undefined || pk === "" || pk === "undefined") throw new Error("no usable primary key");
    const id = `${pk}`;
    if (delegate.checkLoop(this.key, id, input)) return id;
    const problem = this.validate(record);
    if (problem) throw new Error(problem);
    const fields = Object.keys(this.schema);
    for (let i = 0; i < fields.length; i++) {
      const name = fields[i];
      if (Object.hasOwn(record, name)) record[name] = delegate.visit(this.schema[name], record[name], record, name);
    }
    delegate.mergeEntity(this, id, record);
    return id;
  }

  static fromJS(props = {}) {
    return Object.assign(new this(props), props);
  }

  static createIfValid(props) {
    return this.validate(props) ? undefined : this.fromJS(props);
  }

  static denormalize(input, delegate) {
    if (typeof input === "symbol") return input;
    const fields = Object.keys(this.schema);
    for (let i = 0; i < fields.length; i++) {
      const name = fields[i];
      const value = delegate.unvisit(this.schema[name], input[name]);
      if (typeof value === "symbol") {
        if (this.defaults[name]) return INVALID;
        input[name] = undefined;
      } else {
        input[name] = value;
      }
    }
    return input;
  }

  static get defaults() {
    if (!Object.hasOwn(this, "_defaults")) Object.defineProperty(this, "_defaults", { value: new this() });
    return this._defaults;
  }

  static queryKey(args, unvisit, delegate) {
    if (!args[0]) return undefined;
    const pk = typeof args[0] === "object" ? this.pk(args[0], undefined, "", args) : `${args[0]}`;
    return pk && delegate.getEntity(this.key, pk) ? pk : undefined;
  }
}
