/** A schema that `z.toJSONSchema` made, without the `$schema` field that some providers refuse. */
export function zodToJsonSchema<Schema extends object>(schema: Schema): Omit<Schema, '$schema'> {
  const { $schema: _, ...plain } = schema as Schema & { $schema?: unknown }
  return plain
}
