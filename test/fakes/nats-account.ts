import {
  createAccount,
  createOperator,
  createUser,
  encodeAccount,
  encodeOperator,
  encodeUser,
  fmtCreds,
} from "@nats-io/jwt";

/** Any number of them. */
const UNLIMITED = -1;

/** An account of a NATS system with an operator, as `nsc` makes it, with one user. */
export interface NatsAccount {
  /** What the server's configuration says of it. */
  configuration: string;
  /** The user's credentials file: a JWT, and the seed of the key that it is for. */
  credentials: Uint8Array;
}

/** Makes an account that may keep messages. */
export const newNatsAccount = async (): Promise<NatsAccount> => {
  const [operator, system, account, user] = [createOperator(), createAccount(), createAccount(), createUser()];
  const limits = {
    ...{ conn: UNLIMITED, subs: UNLIMITED, data: UNLIMITED, payload: UNLIMITED },
    ...{ disk_storage: UNLIMITED, mem_storage: UNLIMITED, streams: UNLIMITED, consumer: UNLIMITED },
  };
  const ofOperator = await encodeOperator("operator", operator);
  const ofSystem = await encodeAccount("system", system, {}, { signer: operator });
  const ofAccount = await encodeAccount("fleet", account, { limits }, { signer: operator });
  const ofUser = await encodeUser("server", user, account, {});
  return {
    configuration: [
      `operator: ${ofOperator}`,
      "resolver: MEMORY",
      `system_account: ${system.getPublicKey()}`,
      `resolver_preload: { ${system.getPublicKey()}: ${ofSystem}, ${account.getPublicKey()}: ${ofAccount} }`,
    ].join("\n"),
    credentials: fmtCreds(ofUser, user),
  };
};
