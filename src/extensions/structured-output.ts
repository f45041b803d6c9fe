import { AgentBudgetError, AgentError, AgentProviderError, messageOf } from '../core/errors.ts'
import { isRecord } from '../core/is-record.ts'
import { buildRequest } from '../core/model-request.ts'
import { asJson } from '../core/plain-json.ts'
import type { ModelRequest } from '../core/provider.ts'
import type { Extension, Run } from '../core/run.ts'
import { issuesOf, type ParsedSchema, parseSchema } from '../core/schema.ts'
import type { JsonSchema } from '../core/tool.ts'
import { validateToolArgs } from '../core/tool-input.ts'
import { toolResultToText } from '../core/tool-output.ts'
import { type Message, type SessionContentBlock, textOf } from '../core/turn.ts'

const toolName = '__output__'

/** `behavior.schema`: when the model is done, one more model call asks for an answer that matches the schema. Retried once. */
export function structuredOutput(): Extension {
  return {
    name: 'structured-output',
    start(run, hooks) {
      if (!run.settings.behavior.schema) return
      const schema = parseSchema(run.settings.behavior.schema, 'behavior.schema')
      hooks.hook('turn:next', async (next) => {
        if (!next.stop || next.add.length > 0) return
        try {
          await answer(next.turnId)
        } catch (error) {
          next.error = error
        }
      })
      // The budget ended the work: an answer from what is known so far is better than none.
      hooks.hook('limit:close', async ({ turnId }) => {
        if (run.result.output !== undefined || run.settings.behavior.limits?.reserve === 0) return
        try {
          await answer(turnId).catch((error) => {
            if (!(error instanceof AgentBudgetError)) throw error
            return answer(turnId, inBrief)
          })
        } catch (error) {
          if (!(error instanceof AgentError)) throw error // the run ends without an answer, like any other that reached a limit
        }
      })

      async function answer(turnId: string, view?: View): Promise<void> {
        const output = await answerIn(run, schema, turnId, view)
        await run.log.append({ type: 'state', owner: 'structured-output', value: asJson(output) })
        run.result.output = output
        await run.hooks.tell('output', { output, schema: schema.jsonSchema })
      }
    },
  }
}

/** Selects what the model gets of the conversation. */
type View = (messages: readonly Message[]) => readonly Message[]

/** Cuts long results to their beginning, for an answer that has to be cheap. */
const inBrief: View = (messages) =>
  messages.map(({ content, ...message }) => ({
    ...message,
    content: content.map((block) => {
      const text = block.type === 'tool_result' ? toolResultToText(block.output) : ''
      return text.length > longestResult
        ? { ...block, output: `${text.slice(0, longestResult).toWellFormed()}…` }
        : block
    }),
  }))

const longestResult = 400

async function answerIn(
  run: Run,
  schema: ParsedSchema,
  turnId: string,
  view: View = (messages) => messages,
): Promise<unknown> {
  const shape = asToolInput(schema.jsonSchema)
  const { inputSchema } = shape
  // Built with all hooks, as any other request: content that they hide from the model stays hidden.
  const asked = await buildRequest(run, turnId)
  const method = isNative(run, asked.model) ? natively(asked, inputSchema) : byTool(inputSchema)
  const { model, system } = asked
  const messages: Message[] = [...view(asked.messages), userMessage(method.request)]
  let problem = ''
  for (let tries = 0; tries < 2; tries++) {
    const { content } = await run.askAside({
      cause: 'structured output',
      turnId,
      model,
      system,
      messages,
      outputSchema: inputSchema,
      ...method.call,
    })
    const answer = method.read(content)
    if (typeof answer === 'string') problem = answer
    else {
      const checked = await check(answer, shape, schema.validate)
      if (checked.valid) return checked.output
      problem = checked.error
    }
    messages.push(userMessage(`That answer does not fit: ${problem}. ${method.request}`))
  }
  const options = { provider: run.provider.meta.name, providerCode: 'output_invalid' }
  throw new AgentProviderError(`The model did not answer in the wanted shape, even when told why: ${problem}`, options)
}

/** A way to get an answer that matches the schema. */
interface Method {
  readonly request: string
  readonly call: Pick<ModelRequest, 'tools' | 'toolChoice'>
  /** The answer, or why there is none. */
  read(content: readonly SessionContentBlock[]): Record<string, unknown> | string
}

function isNative({ provider }: Run, model: string): boolean {
  const { structuredOutput = false } = provider.meta.capabilities ?? {}
  return typeof structuredOutput === 'function' ? structuredOutput(model) : structuredOutput
}

/** The service enforces the schema. The tools stay in the request, though none may be called, so that the cached prefix stays valid. */
function natively({ tools }: ModelRequest, inputSchema: JsonSchema): Method {
  return {
    request: `Give the final answer now, as JSON that fits this schema and nothing else: ${JSON.stringify(inputSchema)}`,
    call: { tools, ...(tools.length > 0 && { toolChoice: 'none' }) },
    read(content) {
      const text = textOf({ role: 'assistant', content })
      try {
        const answer: unknown = JSON.parse(text)
        return isRecord(answer) ? answer : 'it is no JSON object'
      } catch (error) {
        return messageOf(error)
      }
    },
  }
}

/** Without support by the service: a forced call of a tool whose input is the answer. */
function byTool(inputSchema: JsonSchema): Method {
  return {
    request: `Give the final answer now by calling ${toolName}, and nothing else.`,
    call: {
      tools: [{ name: toolName, description: 'Gives the final answer.', inputSchema }],
      toolChoice: { name: toolName },
    },
    read(content) {
      const call = content.find((block) => block.type === 'tool_call' && block.name === toolName)
      if (call?.type !== 'tool_call') return `the reply did not call ${toolName}`
      return call.unreadable ?? call.input
    },
  }
}

interface ToolInput {
  readonly inputSchema: JsonSchema
  readonly unwrap: (input: Record<string, unknown>) => unknown
}

/** The input of a tool is always an object; an answer of any other type is wrapped in one. */
function asToolInput(schema: JsonSchema): ToolInput {
  if (schema.type === 'object' || schema.properties) return { inputSchema: schema, unwrap: (input) => input }
  const { $defs, definitions, ...value } = schema
  const shared = { ...($defs ? { $defs } : {}), ...(definitions ? { definitions } : {}) }
  return {
    inputSchema: { type: 'object', properties: { value: rerooted(value) }, required: ['value'], ...rerooted(shared) },
    unwrap: (input) => input.value,
  }
}

/** Adapts references to the root of the schema, which is one level deeper now. */
function rerooted<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(rerooted) as T
  if (typeof schema !== 'object' || schema === null) return schema
  const entries = Object.entries(schema).map(([key, value]) => [
    key,
    key === '$ref' && value === '#' ? '#/properties/value' : rerooted(value),
  ])
  return Object.fromEntries(entries) as T
}

type Checked = { valid: true; output: unknown } | { valid: false; error: string }

/** Repairs the answer like the input of a tool, then validates it: by the library of the schema, else as JSON Schema. */
async function check(
  input: Record<string, unknown>,
  { inputSchema, unwrap }: ToolInput,
  validate: ParsedSchema['validate'],
): Promise<Checked> {
  const repaired = validateToolArgs(input, inputSchema)
  if (!repaired.valid) return repaired
  if (validate) {
    const result = await validate(unwrap(repaired.input))
    return result.issues ? { valid: false, error: issuesOf(result.issues) } : { valid: true, output: result.value }
  }
  const { createSchemaValidator, worstViolation } = await import('../platform/json-schema.ts')
  const violations = usable(() => createSchemaValidator(inputSchema)(repaired.input))
  if (!violations) return { valid: true, output: unwrap(repaired.input) }
  return { valid: false, error: worstViolation(violations) }
}

/** A schema that cannot be used is the caller's mistake, not the model's. */
function usable<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new TypeError(`behavior.schema cannot be used: ${messageOf(error)}`, { cause: error })
  }
}

function userMessage(text: string): Message {
  const content: SessionContentBlock[] = [{ type: 'text', text }]
  return { role: 'user', content }
}
