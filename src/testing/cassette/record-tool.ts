import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { Suspended } from '../../core/tool-context.ts'
import { readToolResult } from '../../core/tool-result.ts'
import { copyJson } from '../../core/turn.ts'
import type { Recording } from './recording.ts'
import type { TapedResult } from './tape-items.ts'
import { tapedContext } from './taped-context.ts'
import { tapeError } from './taped-error.ts'

/** The same tool, with its calls and what came of them taken down. */
export function recordTool(recording: Recording, name: string, tool: ToolDef): ToolDef {
  return {
    ...tool,
    execute: (input, ctx) =>
      taken('execute', input, ctx, async (watched) => ({
        outcome: readToolResult(await tool.execute(input, watched)),
      })).then(returned),
    ...(tool.check && { check: (input) => tool.check!(input) }),
    ...(tool.before && {
      before: (input, ctx) =>
        taken('before', input, ctx, async (watched) => ({ facts: await tool.before!(input, watched) })).then(
          (result) => ('facts' in result ? result.facts : {}) as Readonly<Record<string, unknown>>,
        ),
    }),
  }

  async function taken(
    part: 'execute' | 'before',
    input: unknown,
    ctx: ToolContext,
    work: (ctx: ToolContext) => Promise<TapedResult>,
  ): Promise<TapedResult> {
    const n = recording.number('execute')
    const { callId, idempotencyKey: key } = ctx
    recording.add({ type: 'execute', n, tool: name, part, callId, key, input: plainInput(input) })
    const watched = tapedContext(ctx, {
      async mark(step) {
        await recording.turn()
        recording.add({ type: 'step', n, ...step })
      },
      note: (step) => recording.add({ type: 'step', n, ...step }),
      hold: (work) => recording.hold(work),
    })
    try {
      const result = await work(watched)
      await recording.turn()
      recording.add({ type: 'result', n, result: copyJson(result) })
      return result
    } catch (error) {
      await recording.turn()
      const isSuspended = error instanceof Suspended
      const result = isSuspended ? { suspended: String(error.reason) } : { error: tapeError(error) }
      recording.add({ type: 'result', n, result })
      throw error
    }
  }
}

function returned(result: TapedResult): object {
  return 'outcome' in result ? result.outcome : {}
}

/** What a tool was given, as data. A schema's own wrapper is opened. */
export function plainInput(input: unknown): unknown {
  const isWrapped =
    typeof input === 'object' && input !== null && !isPlain(input) && Object.keys(input).join() === 'value'
  const value = isWrapped ? (input as { value: unknown }).value : input
  return value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null')
}

function isPlain(value: object): boolean {
  const prototype = Object.getPrototypeOf(value) as unknown
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}
