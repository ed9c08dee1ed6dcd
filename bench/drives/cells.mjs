/** A store that counts the cells it is given. */
export function watchCells(store) {
  const cells = {
    count: 0,
    bytes: 0,
    reset() {
      cells.count = 0;
      cells.bytes = 0;
    },
  };
  const batch = () => {
    const inner = store.batch();
    return {
      put(hash, bytes) {
        cells.count += 1;
        cells.bytes += bytes.length;
        return inner.put(hash, bytes);
      },
      flush: () => inner.flush(),
      commit: (...args) => inner.commit(...args),
    };
  };
  const watched = new Proxy(store, {
    get(target, key) {
      if (key === "batch") return batch;
      const value = Reflect.get(target, key);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { store: watched, cells };
}
