import { isRecord } from '../core/is-record.ts'
import { isStandard, issuesOf, parseSchema, type Validate, zodToJsonSchema } from '../core/schema.ts'
import type { JsonSchema } from '../core/tool.ts'
import { contractVersion, type ToolAnswer, type ToolContract } from './contract.ts'
import type { ToolHost } from './host.ts'

/** Whether a value is a tool of the AI SDK: it has `execute` and a schema, but none of our own fields. */
export function isAiSdkTool(value: unknown): value is AiSdkTool {
  if (!isRecord(value) || 'kind' in value || 'contractVersion' in value || 'lifecycle' in value) return false
  return typeof value.execute === 'function' && ('inputSchema' in value || 'parameters' in value)
}

/** The fields of an AI SDK tool that are used, of any version. */
interface AiSdkTool {
  readonly description?: unknown
  readonly inputSchema?: unknown
  /** The earlier name of `inputSchema`. */
  readonly parameters?: unknown
  execute(input: unknown, options: AiSdkCall): unknown
}

interface AiSdkCall {
  readonly toolCallId: string
  /** Always empty: a tool does not get the conversation. */
  readonly messages: readonly never[]
  readonly abortSignal: AbortSignal
}

/** The contract of an AI SDK tool. Its name is that of its file, and one approval covers all its calls. */
export async function contractOfAiSdkTool(tool: AiSdkTool, name: string): Promise<ToolContract> {
  const { description } = tool
  const { jsonSchema, parse } = await schemaOf(tool.inputSchema ?? tool.parameters)
  return {
    kind: 'Tool',
    contractVersion,
    requiredCoreVersion: '*',
    configSchema,
    reloadBehavior: 'between-turns',
    name,
    description: typeof description === 'string' && description.trim() !== '' ? description : `The tool ${name}.`,
    inputSchema: jsonSchema,
    executor: 'local',
    gated: true,
    deriveApprovalKey: () => name,
    lifecycle: {},
    async execute(input: unknown, host: ToolHost, abortSignal): Promise<ToolAnswer> {
      const parsed = await parse(input)
      if ('problem' in parsed)
        return { ok: false, error: { class: 'ToolTerminal', code: 'InputInvalid', message: parsed.problem } }
      const toolCallId = host.call?.id ?? ''
      return { ok: true, value: await lastOf(tool.execute(parsed.value, { toolCallId, messages: [], abortSignal })) }
    },
  }
}

const configSchema: JsonSchema = {
  type: 'object',
  properties: { enabled: { type: 'boolean' }, timeoutMs: { type: 'integer', minimum: 1 } },
  required: ['enabled'],
  additionalProperties: false,
}

type Parsed = { readonly value: unknown } | { readonly problem: string }

/** Accepts a Standard Schema, the result of `jsonSchema()`, a function that returns one of them, or a JSON Schema. */
async function schemaOf(given: unknown): Promise<{ jsonSchema: JsonSchema; parse(input: unknown): Promise<Parsed> }> {
  if (isStandard(given)) {
    const { jsonSchema, validate } = parseSchema(given, 'its inputSchema')
    return { jsonSchema, parse: async (input) => parsed(await validate!(input)) }
  }
  if (typeof given === 'function') return schemaOf(given())
  if (!isRecord(given)) throw new Error('its inputSchema is no schema')
  if (!('jsonSchema' in given)) return { jsonSchema: given, parse: async (value) => ({ value }) }
  const { validate } = given
  return {
    jsonSchema: zodToJsonSchema((await given.jsonSchema) as JsonSchema),
    parse: async (value) => (typeof validate === 'function' ? readValidation(await validate(value)) : { value }),
  }
}

const parsed = (checked: Awaited<ReturnType<Validate>>): Parsed =>
  checked.issues ? { problem: issuesOf(checked.issues) } : { value: checked.value }

function readValidation(checked: unknown): Parsed {
  const { success, value, error } = checked as { success?: boolean; value?: unknown; error?: unknown }
  return success ? { value } : { problem: error instanceof Error ? error.message : 'the input does not fit' }
}

/** The last value of a streaming tool is its result. */
async function lastOf(result: unknown): Promise<unknown> {
  const settled = await result
  if (typeof settled !== 'object' || settled === null || !(Symbol.asyncIterator in settled)) return settled
  let last: unknown
  for await (const part of settled as AsyncIterable<unknown>) last = part
  return last
}
