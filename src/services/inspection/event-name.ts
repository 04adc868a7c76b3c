const typeIn = (value: unknown): string | undefined =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"
    ? value.type
    : undefined;

/**
 * An event by its type; one that carries another event or an effect by both types, such as `HOST idle`. Types are words
 * of ours: whatever else an event has may be what somebody said, and is left out.
 */
export const eventName = (event: { type: string; event?: unknown; effect?: unknown }): string =>
  [event.type, typeIn(event.event) ?? typeIn(event.effect)].filter((part) => part !== undefined).join(" ");
