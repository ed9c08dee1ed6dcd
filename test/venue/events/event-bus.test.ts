import { expect, test } from "@jest/globals";
import { EventLog } from "../../../src/feed/event-log.js";
import { createEventBus } from "../../../src/venue/events/event-bus.js";

test("a topic is recorded from the first time on that somebody asks for it", () => {
  const bus = createEventBus(new EventLog());
  const event = (id: number) => ({ data: { id }, audience: [] });
  expect(bus.wants("auth")).toBe(false);
  bus.publish("auth", event(1));
  const ring = bus.ring("auth");
  expect(bus.wants("auth")).toBe(true);
  bus.publish("auth", event(2));
  bus.publish("job", event(3));
  expect([...ring.after(0)].map((placed) => placed.event.data)).toEqual([{ id: 2 }]);
  expect(bus.ring("auth")).toBe(ring);
});
