import type { JsonSchema, ReplayClass, ToolContext, ToolDef } from '../core/tool.ts'
import { type SessionContentBlock, textOf } from '../core/turn.ts'

/** A tool with which the model asks a person, or a program that answers for one. */
// biome-ignore lint/suspicious/noExplicitAny: the schema says what comes in, and TypeScript cannot read it
export function createInteractionTool<Input = any>(options: {
  readonly name: string
  readonly description?: string
  /** The input that the model has to give. */
  readonly schema: JsonSchema
  /** Asks the person; the agent waits without a time limit. The model receives the returned text or object. */
  readonly onRequest: (input: Input, ctx: ToolContext) => unknown
  /** A further check of the input, as for any tool. */
  readonly check?: ToolDef['check']
  /** Default `opaque`. Use `keyed` if the question may be asked again after a crash. */
  readonly replay?: ReplayClass
}): ToolDef<Input> {
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
      // An object is not a ToolResult here: the model receives all of its fields.
      return typeof answer === 'object' && answer !== null ? JSON.stringify(answer) : String(answer ?? '(no answer)')
    },
  }
}

/** An answer that was given while the run was suspended, as text. */
export function answerText(answer: readonly SessionContentBlock[]): string {
  return textOf({ role: 'user', content: answer })
}
