import type { JsonSchema, ReplayClass, ToolContext, ToolDef } from '../core/tool.ts'
import { type SessionContentBlock, textOf } from '../core/turn.ts'

export interface InteractionToolOptions<Input> {
  readonly name: string
  readonly description?: string
  /** What the model has to fill in. */
  readonly schema: JsonSchema
  /** The agent waits for it as long as it takes. A text or an object goes back to the model. */
  readonly onRequest: (input: Input, ctx: ToolContext) => unknown
  /** A further look at the input, as with any tool. */
  readonly check?: ToolDef['check']
  /** Default `opaque`. A question that may be put again after a crash is `keyed`. */
  readonly replay?: ReplayClass
}

/** A tool with which the model asks a person, or whoever answers for one. */
// biome-ignore lint/suspicious/noExplicitAny: the schema says what comes in, and TypeScript cannot read it
export function createInteractionTool<Input = any>(options: InteractionToolOptions<Input>): ToolDef<Input> {
  const { name, description = 'Asks the user and waits for the answer.', schema, onRequest, check } = options
  return {
    spec: { name, description, inputSchema: schema },
    isConcurrencySafe: false,
    replay: options.replay ?? 'opaque',
    effects: ['ask'],
    deriveApprovalKey: () => name,
    timeoutMs: 0,
    ...(check && { check }),
    async execute(input, ctx) {
      const answer = await onRequest(input, ctx)
      // An object goes back whole, whatever its fields are called.
      return typeof answer === 'object' && answer !== null ? JSON.stringify(answer) : String(answer ?? '(no answer)')
    },
  }
}

/** What somebody answered from elsewhere while the run was suspended, as text. */
export function answerText(answer: readonly SessionContentBlock[]): string {
  return textOf({ role: 'user', content: answer })
}
