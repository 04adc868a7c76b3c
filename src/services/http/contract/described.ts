import type { z } from "@hono/zod-openapi";

/**
 * Returns an object schema whose fields have these descriptions in the OpenAPI document. The compiler demands one for each
 * field. They stand here, and not with the shapes that everybody shares, since those are loaded while OpenCode starts.
 */
export const describeFields = <S extends z.ZodObject>(
  schema: S,
  descriptions: Readonly<Record<keyof S["shape"], string>>,
): S => {
  const fields = Object.entries(schema.shape as Record<string, z.ZodType>);
  const described = fields.map(([name, field]) => [name, field.describe(descriptions[name as keyof S["shape"]])]);
  return schema.extend(Object.fromEntries(described)) as z.ZodObject as S;
};
