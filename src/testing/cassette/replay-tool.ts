import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { copyJson } from '../../core/turn.ts'
import { differs, isSameInput } from './differences.ts'
import type { Player } from './player.ts'
import { plainInput } from './record-tool.ts'
import { ReplayError } from './replay-error.ts'
import type { TapedResult, TapeItem, ToolStep } from './tape-items.ts'
import { tapedContext } from './taped-context.ts'
import { untapeError } from './taped-error.ts'

type Begun = Extract<TapeItem, { type: 'execute' }>

interface RecordedCall extends Begun {
  readonly place: number
  readonly steps: { readonly place: number; readonly step: ToolStep }[]
  result?: { readonly place: number; readonly result: TapedResult }
}

/** The tool calls of a tape, found by the tool and the call they were made for. */
export class RecordedTools {
  readonly #calls = new Map<number, RecordedCall>()
  readonly #player: Player

  constructor(player: Player) {
    this.#player = player
    for (const [place, item] of player.items.entries()) {
      if (item.type === 'execute') this.#calls.set(item.n, { ...item, place, steps: [] })
      if (item.type === 'step') this.#calls.get(item.n)?.steps.push({ place, step: item })
      const call = item.type === 'result' && this.#calls.get(item.n)
      if (call && item.type === 'result') call.result = { place, result: item.result }
    }
  }

  take(tool: string, part: Begun['part'], ctx: ToolContext, input: unknown): RecordedCall {
    const player = this.#player
    if (player.failure) throw player.failure
    const { callId, idempotencyKey: key } = ctx
    const open = [...this.#calls.values()].filter(
      (one) => one.tool === tool && one.part === part && one.callId === callId && !player.isUsed(one.place),
    )
    const found = open.find((one) => one.key === key) ?? open.find((one) => isSameInput(one.input, input)) ?? open[0]
    if (!found)
      throw player.fail(
        new ReplayError(`The recording has no call ${callId} of tool "${tool}" that is still to come; record it again`),
      )
    if (!isSameInput(found.input, input))
      throw player.fail(
        differs(`call ${callId} of tool "${tool}"`, { field: 'its input', recorded: found.input, now: input }),
      )
    player.use(found.place)
    return found
  }
}

/** A tool that does nothing but give the recorded result; only one that had a child agent runs, for the child's sake. */
export function replayTool(player: Player, recorded: RecordedTools, name: string, tool: ToolDef): ToolDef {
  return {
    ...tool,
    ...(tool.check && { check: (input) => tool.check!(input) }),
    async execute(input, ctx) {
      if (player.isLive) return tool.execute(input, ctx)
      const call = recorded.take(name, 'execute', ctx, plainInput(input))
      if (call.steps.some(({ step }) => step.did === 'fork')) return runAgain(call, input, ctx)
      return outcomeOf(await played(call, ctx), ctx)
    },
    ...(tool.before && {
      async before(input, ctx) {
        if (player.isLive) return tool.before!(input, ctx)
        const result = await played(recorded.take(name, 'before', ctx, plainInput(input)), ctx)
        if ('error' in result) throw untapeError(result.error)
        return ('facts' in result ? copyJson(result.facts) : {}) as Readonly<Record<string, unknown>>
      },
    }),
  }

  async function played(call: RecordedCall, ctx: ToolContext): Promise<TapedResult> {
    for (const { place, step } of call.steps) {
      await player.turn(place)
      perform(step, ctx)
    }
    if (!call.result) return new Promise(() => {}) // it never ended, and somebody gave up on it
    await player.turn(call.result.place)
    return call.result.result
  }

  async function runAgain(call: RecordedCall, input: unknown, ctx: ToolContext): Promise<unknown> {
    const steps = call.steps.values()
    const next = (now: ToolStep): number => {
      const { value } = steps.next()
      if (value?.step.did !== now.did)
        throw player.fail(
          new ReplayError(
            `Call ${call.callId} of tool "${name}" does something else than recorded: ${now.did} instead of ${value?.step.did ?? 'nothing more'}`,
          ),
        )
      // What goes into the log has to be the same; the input of a call is looked at by the tool that is called.
      if (value.step.did === 'append' && now.did === 'append' && !isSameInput(value.step.bodies, now.bodies))
        throw player.fail(
          differs(`call ${call.callId} of tool "${name}"`, {
            field: 'what it appends to the log',
            recorded: value.step.bodies,
            now: now.bodies,
          }),
        )
      return value.place
    }
    const watched = tapedContext(ctx, {
      async mark(step) {
        if (!player.isLive) await player.turn(next(step))
      },
      note(step) {
        if (!player.isLive) player.use(next(step))
      },
    })
    let given: { value: unknown } | { error: unknown }
    try {
      given = { value: await tool.execute(input as never, watched) }
    } catch (error) {
      given = { error }
    }
    if (call.result && !player.failure) await player.turn(call.result.place)
    if ('error' in given) throw given.error
    return given.value
  }
}

/** What the tool did through its context is done again; what it made of it is on the tape. */
function perform(step: ToolStep, ctx: ToolContext): void {
  if (step.did === 'progress') ctx.progress(step.text)
  if (step.did === 'append') Promise.resolve(ctx.log.appendAll(copyJson(step.bodies))).catch(() => {})
  if (step.did === 'call') ctx.call(step.tool, step.input as Record<string, unknown>).catch(() => {})
}

function outcomeOf(result: TapedResult, ctx: ToolContext): object {
  if ('suspended' in result) return ctx.suspend(result.suspended)
  if ('error' in result) throw untapeError(result.error)
  return 'outcome' in result ? copyJson(result.outcome) : {}
}
