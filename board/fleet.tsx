import { useEffect, useState } from "preact/hooks";
import type { ApiFleet } from "../src/services/http/contract/schemas.ts";
import { fleetProblem, fleetSummary } from "../src/services/text/model-and-server.ts";
import { readFleet } from "./api.ts";

/** Milliseconds between two looks at the fleet. The server asks it no more often. */
const LOOK_EVERY_MS = 5_000;

/** The same where no fleet is used: OpenCode may open a directory with one later. */
const LOOK_FOR_ONE_EVERY_MS = 60_000;

/** Servers that are listed from the start. More would leave the tasks no room. */
const MAX_OPEN_SERVERS = 6;

/** Windows of this width show the list and the details side by side. */
const WIDE = "(min-width: 861px)";

/** Returns what is known of the fleet, looked at again and again while `isLive` and the page is seen. */
const useFleet = (isLive: boolean): ApiFleet | undefined => {
  const [fleet, setFleet] = useState<ApiFleet>();
  useEffect(() => {
    if (!isLive) return;
    const leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let pause = LOOK_EVERY_MS;
    const look = async () => {
      try {
        if (!document.hidden) {
          const read = await readFleet(leaving.signal);
          pause = read.isUsed ? LOOK_EVERY_MS : LOOK_FOR_ONE_EVERY_MS;
          setFleet(read);
        }
      } catch {
        // What was read stays. Whether the server can be reached at all is said at the top of the page.
      }
      if (!leaving.signal.aborted) timer = setTimeout(look, pause);
    };
    void look();
    return () => {
      leaving.abort();
      clearTimeout(timer);
    };
  }, [isLive]);
  return fleet;
};

/** A line for each project of each server. What servers say of themselves is bounded by the API. */
const Servers = ({ fleet: { servers, server: own } }: { fleet: ApiFleet }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: nobody could scroll it with the keyboard otherwise
  <ul aria-label="Servers" tabIndex={0}>
    {servers.flatMap(({ id, label, isDrained, projects }) =>
      projects.map(({ project, slots, atWork }, index) => (
        <li key={`${id} ${index}`}>
          <b>{label}</b>
          <span class="project">
            {project}
            {id === own?.id && " · this server"}
          </span>
          {isDrained && <span class="drained">drained</span>}
          <span class="slots">
            {atWork} / {slots}
            <span class="sr"> slots taken</span>
          </span>
        </li>
      )),
    )}
  </ul>
);

/** The servers of the fleet, and how many tasks wait for one. Nothing where no fleet is used. */
export const FleetSection = ({ isLive }: { isLive: boolean }) => {
  const fleet = useFleet(isLive);
  const [isOpen, setOpen] = useState<boolean>();
  if (!fleet?.isUsed) return null;
  const problem = fleetProblem(fleet);
  const summary = fleetSummary(fleet);
  if (problem !== undefined || fleet.servers.length === 0) {
    return (
      <section class="fleet" aria-label="Fleet">
        <p>
          Fleet{summary !== "" && `: ${summary}`}
          {problem !== undefined && <span class="unreached">{problem}</span>}
        </p>
      </section>
    );
  }
  const isOpenAtFirst = fleet.servers.length <= MAX_OPEN_SERVERS && matchMedia(WIDE).matches;
  return (
    <section class="fleet" aria-label="Fleet">
      <details open={isOpen ?? isOpenAtFirst} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>Fleet: {summary}</summary>
        <Servers fleet={fleet} />
      </details>
    </section>
  );
};
