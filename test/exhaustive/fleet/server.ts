import { isSuperseded, type RunLog } from "../../../src/services/fleet/run-log.ts";
import { AT } from "../charts.ts";
import type { Move } from "../explore.ts";
import { NOBODY, NOWHERE, type Parts, plain, QUEUED, type Server, serverOf, type World } from "./world.ts";

/** Creates what a server does: it takes a job, holds and claims the run, works on it, and writes how it ended. */
export const createServer = ({ family, read, move }: Parts) => {
  const { mistake } = family;

  const nonceOf = (s: number, { begun }: Server): string => `server_${s} ${begun}`;

  /** The server lets go of the run, and of what it has of it. */
  const letGo = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    if (server.hasDelivery && world.job === s) world.job = NOWHERE;
    if (world.holder === s) world.holder = NOBODY;
    Object.assign(server, { phase: "free", claim: null, begunBy: null, hasDelivery: false, outcome: "completed" });
  };

  const requeue = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    if (world.job === s) world.job = QUEUED;
    if (world.holder === s) world.holder = NOBODY;
    Object.assign(server, { phase: "free", claim: null, begunBy: null, hasDelivery: false });
  };

  /** Takes the run, or ends it where it may not be taken; see `claimOrEnd`. */
  const claim = (world: World, s: number) => {
    const server = world.servers[s] as Server;
    const found = read(world);
    if (found.ended) return letGo(world, s);
    const mayClaim = !found.isStopRequested && found.claims.length < family.attempts;
    if (mayClaim || mistake === "a claim is written whatever stands in the log") {
      server.begun += 1;
      // The nonce of a claim that is not written anew is a fresh one.
      world.log.push({ ...plain, type: "claimed", nonce: `claim ${s} ${server.begun}`, server: serverOf(s) });
      server.claim = { epoch: world.epoch, seq: world.log.length };
      server.begunBy = server.claim;
      server.phase = "working";
      return;
    }
    const newest = found.claims.at(-1)?.at;
    const end = {
      ...plain,
      nonce: `end ${s}`,
      outcome: found.isStopRequested ? "cancelled" : "error",
      completedAt: AT,
    } as const;
    world.log.push({ ...end, type: "ended", ...(newest ? { claim: newest } : {}) });
    letGo(world, s);
  };

  /** Reads the log, and knows its own newest claim in it. */
  const readAs = (world: World, s: number): { server: Server; found: RunLog; nonce: string } => {
    const server = world.servers[s] as Server;
    const found = read(world);
    const nonce = nonceOf(s, server);
    const newest = found.claims.at(-1);
    if (newest?.entry.nonce === nonce) server.claim = newest.at;
    return { server, found, nonce };
  };

  /** True where the log has forgotten the claim of a server. */
  const lacks = ({ claims }: RunLog, { claim }: Server): boolean =>
    !claims.some(({ at }) => at.epoch === claim?.epoch && at.seq === claim.seq);

  /** Claims the run anew in a log that has forgotten its claim. */
  const claimAnew = (world: World, s: number, { server, nonce }: { server: Server; nonce: string }) => {
    const replaces = server.begunBy ? { replaces: server.begunBy } : {};
    world.log.push({ ...plain, type: "claimed", nonce, server: serverOf(s), ...replaces });
    server.claim = { epoch: world.epoch, seq: world.log.length };
  };

  /** Reads what others have written of the run that this server works on, see `check`. */
  const check = (world: World, s: number) => {
    const { server, found, nonce } = readAs(world, s);
    if (server.claim && isSuperseded(found, server.claim)) return letGo(world, s);
    if (lacks(found, server)) return claimAnew(world, s, { server, nonce });
    if (found.isStopRequested) Object.assign(server, { phase: "ended", outcome: "cancelled" });
  };

  /** Renews the lease, see `leases.ts`: what another server has is lost. */
  const renew = (world: World, s: number) => {
    if (world.holder === NOBODY) world.holder = s;
    if (world.holder === s) return check(world, s);
    letGo(world, s);
  };

  /** Takes one step to write the end, see `writeEnd`. */
  const writeEnd = (world: World, s: number) => {
    const { server, found, nonce } = readAs(world, s);
    const written = () => {
      if (server.hasDelivery && world.job === s) world.job = NOWHERE;
      if (world.holder === s) world.holder = NOBODY;
      Object.assign(server, { phase: "written", hasDelivery: false });
    };
    if (found.ended?.nonce === nonce) return written();
    const newest = found.claims.at(-1);
    const takesAny = mistake === "an end counts whoever has claimed the run since";
    if (found.ended || (server.claim && isSuperseded(found, server.claim) && !takesAny)) return letGo(world, s);
    if (!newest || (server.claim && lacks(found, server))) return claimAnew(world, s, { server, nonce });
    const claim = takesAny ? newest.at : server.claim;
    const end = { ...plain, nonce, outcome: server.outcome, completedAt: AT } as const;
    world.log.push({ ...end, type: "ended", ...(claim ? { claim } : {}) });
    written();
  };

  const serverMoves = (before: World, s: number): Move<World>[] => {
    const { phase } = before.servers[s] as Server;
    const name = "AB"[s] ?? "";
    const does = (what: string, work: (world: World, server: Server) => void, isExpected = true) =>
      move(before, `${name} ${what}`, (world) => work(world, world.servers[s] as Server), isExpected);
    const moves: Move<World>[] = [];
    if (phase === "free" && before.job === QUEUED) {
      moves.push(
        does("takes the job", (world, server) => {
          world.job = s;
          Object.assign(server, { phase: "taken", hasDelivery: true });
        }),
      );
    }
    if (phase === "taken") {
      moves.push(
        does("takes the lease", (world, server) => {
          if (world.holder !== NOBODY) return requeue(world, s);
          world.holder = s;
          server.phase = "holding";
        }),
      );
    }
    if (phase === "holding") {
      moves.push(does("claims the run", (world) => claim(world, s)));
      if (family.dies) {
        moves.push(
          does(
            "claims the run, and dies before it begins",
            (world, server) => {
              claim(world, s);
              Object.assign(server, { phase: "free", claim: null, begunBy: null, hasDelivery: false });
            },
            false,
          ),
        );
      }
    }
    if (phase === "working") {
      moves.push(does("renews what it holds", (world) => renew(world, s)));
      moves.push(does("has finished", (_, server) => Object.assign(server, { phase: "ended" })));
    }
    if (phase === "ended") moves.push(does("writes the end", (world) => writeEnd(world, s)));
    if (phase === "written") {
      const { ended, isReceived } = read(before);
      const isOthers = ended !== undefined && ended.nonce !== nonceOf(s, before.servers[s] as Server);
      const isOver = isOthers && mistake !== "a server waits for an origin that has closed the run";
      if (isReceived || !ended || isOver) moves.push(does("settles the run", (world) => letGo(world, s)));
    }
    const isTaking = phase === "taken" || phase === "holding";
    if (family.dies && phase !== "free") {
      moves.push(
        does(
          "dies, and starts again",
          (_, server) => {
            if (isTaking) Object.assign(server, { phase: "free", claim: null, begunBy: null });
            server.hasDelivery = false;
          },
          false,
        ),
      );
    }
    return moves;
  };

  return { serverMoves };
};
