/** As much of Bun's own module as is used here. Its whole types would bring Bun's globals, which Node does not have. */
declare module "bun:sqlite" {
  type Value = string | number | null | Uint8Array;

  class Statement {
    run(...values: Value[]): { changes: number };
    get(...values: Value[]): unknown;
    all(...values: Value[]): unknown[];
    finalize(): void;
  }

  export class Database {
    constructor(path: string, options: { create: boolean; readwrite: boolean } | { readonly: boolean });
    exec(sql: string): unknown;
    prepare(sql: string): Statement;
    close(): void;
  }
}
