import manifest from "../package.json" with { type: "json" };
import { openApiDocument } from "../src/services/http/api/routes.ts";

/** A part of JSON Schema, as the API's description uses it. */
export interface ApiSchema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  properties?: Record<string, ApiSchema>;
  required?: string[];
  items?: ApiSchema;
  anyOf?: ApiSchema[];
  additionalProperties?: ApiSchema | boolean;
}

export type Content = Record<string, { schema: ApiSchema }>;

export interface Operation {
  operationId: string;
  summary: string;
  security?: unknown[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema: ApiSchema }[];
  requestBody?: { content: Content };
  responses: Record<string, { description: string; content?: Content }>;
}

/** The parts of the OpenAPI document that the pages show. */
export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, ApiSchema> };
}

/** Returns the API's own description, as a server gives it at `/v1/openapi.json`. */
export const apiDocument = (): ApiDocument => openApiDocument(manifest.version) as unknown as ApiDocument;
