import { AgentProviderError, messageOf } from '../core/errors.ts'
import { buildRequest } from '../core/model-request.ts'
import type { Extension, Run } from '../core/run.ts'
import type { JsonSchema } from '../core/tool.ts'
import { validateToolArgs } from '../core/tool-input.ts'
import type { Message, SessionContentBlock } from '../core/turn.ts'

const toolName = '__output__'
const request = `Give the final answer now by calling ${toolName}, and nothing else.`

/** `behavior.schema`: when the model is done, one more call that must answer in the given shape, retried once. */
export function structuredOutput(): Extension {
  return {
    name: 'structured-output',
    start(run, hooks) {
      const { schema } = run.behavior
      if (!schema) return
      hooks.hook('turn:next', async (next) => {
        if (!next.stop || next.add.length > 0) return
        try {
          run.output = await answerIn(run, schema, next.turnId)
          await run.log.append({ type: 'state', owner: 'structured-output', value: run.output })
        } catch (error) {
          next.error = error
          return
        }
        await run.hooks.tell('output', { output: run.output, schema })
      })
    },
  }
}

async function answerIn(run: Run, schema: JsonSchema, turnId: string): Promise<unknown> {
  const { inputSchema, unwrap } = asToolInput(schema)
  const tools = [{ name: toolName, description: 'Gives the final answer.', inputSchema }]
  // The same hooks as for any other request: what is kept from the model stays kept from it here.
  const { messages: shown, system, model } = await buildRequest(run, turnId)
  const messages: Message[] = [...shown, said(request)]
  let problem = ''
  for (let tries = 0; tries < 2; tries++) {
    const { content } = await run.askAside({
      cause: 'structured output',
      turnId,
      model,
      system,
      messages,
      tools,
      toolChoice: { name: toolName },
      outputSchema: schema,
    })
    const call = content.find((block) => block.type === 'tool_call' && block.name === toolName)
    if (call?.type !== 'tool_call') problem = `the reply did not call ${toolName}`
    else {
      const checked = await check(call.input, inputSchema, call.unreadable)
      if (checked.valid) return unwrap(checked.input)
      problem = checked.error
    }
    messages.push(said(`That answer does not fit: ${problem}. ${request}`))
  }
  const options = { provider: run.provider.meta.name, providerCode: 'output_invalid' }
  throw new AgentProviderError(`The model did not answer in the wanted shape, even when told why: ${problem}`, options)
}

/** A tool's input is always an object; any other shape travels inside one. */
function asToolInput(schema: JsonSchema): {
  inputSchema: JsonSchema
  unwrap: (input: Record<string, unknown>) => unknown
} {
  if (schema.type === 'object' || schema.properties) return { inputSchema: schema, unwrap: (input) => input }
  const { $defs, definitions, ...value } = schema
  const shared = { ...($defs ? { $defs } : {}), ...(definitions ? { definitions } : {}) }
  return {
    inputSchema: { type: 'object', properties: { value: rerooted(value) }, required: ['value'], ...rerooted(shared) },
    unwrap: (input) => input.value,
  }
}

/** A schema that refers to itself as a whole finds itself one level down. */
function rerooted<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(rerooted) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === '$ref' && value === '#' ? '#/properties/value' : rerooted(value),
  ])
  return Object.fromEntries(entries) as T
}

type Checked = { valid: true; input: Record<string, unknown> } | { valid: false; error: string }

/** The same mending as for tools, then the whole schema. */
async function check(
  input: Record<string, unknown>,
  schema: JsonSchema,
  unreadable: string | undefined,
): Promise<Checked> {
  if (unreadable !== undefined) return { valid: false, error: unreadable }
  const mended = validateToolArgs(input, schema)
  if (!mended.valid) return mended
  const { Validator } = await import('@cfworker/json-schema')
  const { valid, errors } = validate(() => new Validator(schema as object, '2020-12', false).validate(mended.input))
  if (valid) return mended
  const [worst] = errors.toReversed()
  return { valid: false, error: worst ? `${worst.instanceLocation} ${worst.error}` : 'it does not match the schema' }
}

/** A schema that cannot be checked is the caller's mistake, not the model's. */
function validate<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TypeError(`behavior.schema cannot be used: ${messageOf(error)}`, { cause: error })
  }
}

function said(text: string): Message {
  const content: SessionContentBlock[] = [{ type: 'text', text }]
  return { role: 'user', content }
}
