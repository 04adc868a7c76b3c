// ADR-267 in docs/decisions.md
import type { HostSession, SetAside } from "../../machines/host-events.ts";
import type { Host, HostResult } from "./host.ts";

const ok = (value: SetAside | undefined): HostResult<SetAside | undefined> => ({ ok: true, value });

/**
 * Says why nothing is to be sent to a conversation now; undefined where nothing stands in the way. A prompt takes no
 * conversation out of the archive, so one that was prompted after it was archived counts as in use: it is read for that.
 */
export const whySetAside = async (
  host: Pick<Host, "messages" | "message">,
  { id, isReverted, archivedAt }: HostSession,
): Promise<HostResult<SetAside | undefined>> => {
  if (isReverted) return ok("reverted");
  if (archivedAt === undefined) return ok(undefined);
  const newest = await host.messages(id, 1);
  if (!newest.ok) return newest;
  const [message] = newest.value;
  if (!message) return ok("archived");
  const prompt = message.promptID === undefined ? undefined : await host.message(id, message.promptID);
  if (prompt && !prompt.ok && prompt.failure.kind !== "notFound") return prompt;
  const promptedAt = prompt?.ok ? prompt.value.createdAt : message.createdAt;
  return ok(promptedAt > archivedAt ? undefined : "archived");
};
