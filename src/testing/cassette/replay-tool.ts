import type { ToolContext, ToolDef } from '../../core/tool.ts'
import { copyJson } from '../../core/turn.ts'
import { plainInput } from '../record.ts'
import { differenceError, isSameInput, ReplayError } from './differences.ts'
import type { Player } from './player.ts'
import { fromTapedError, observedContext, type TapedResult, type TapeItem, type ToolStep } from './tape-items.ts'

type StartedCall = Extract<TapeItem, { type: 'execute' }>

interface RecordedCall extends StartedCall {
  readonly position: number
  readonly steps: { readonly position: number; readonly step: ToolStep }[]
  result?: { readonly position: number; readonly result: TapedResult }
}

/** The tool calls of a tape, found by tool and call id. */
export class RecordedTools {
  readonly #calls = new Map<number, RecordedCall>()
  readonly #player: Player

  constructor(player: Player) {
    this.#player = player
    for (const [position, item] of player.items.entries()) {
      if (item.type === 'execute') this.#calls.set(item.n, { ...item, position, steps: [] })
      if (item.type === 'step') this.#calls.get(item.n)?.steps.push({ position, step: item })
      const call = item.type === 'result' && this.#calls.get(item.n)
      if (call && item.type === 'result') call.result = { position, result: item.result }
    }
  }

  take(tool: string, part: StartedCall['part'], ctx: ToolContext, input: unknown): RecordedCall {
    const player = this.#player
    if (player.failure) throw player.failure
    const { callId, idempotencyKey: key } = ctx
    const open = [...this.#calls.values()].filter(
      (one) => one.tool === tool && one.part === part && one.callId === callId && !player.isUsed(one.position),
    )
    const found = open.find((one) => one.key === key) ?? open.find((one) => isSameInput(one.input, input)) ?? open[0]
    if (!found)
      throw player.fail(
        new ReplayError(`The recording has no call ${callId} of tool "${tool}" that is still to come; record it again`),
      )
    if (!isSameInput(found.input, input))
      throw player.fail(
        differenceError(`call ${callId} of tool "${tool}"`, { field: 'its input', recorded: found.input, now: input }),
      )
    player.use(found.position)
    return found
  }
}

/** A tool that returns the recorded result. Only a tool that had a child agent runs again, for the child. */
export function replayTool(player: Player, recorded: RecordedTools, name: string, tool: ToolDef): ToolDef {
  return {
    ...tool,
    ...(tool.check && { check: (input) => tool.check!(input) }),
    async execute(input, ctx) {
      if (player.isLive) return tool.execute(input, ctx)
      const call = recorded.take(name, 'execute', ctx, plainInput(input))
      if (call.steps.some(({ step }) => step.did === 'fork')) return runAgain(call, input, ctx)
      return outcomeOf(await replayed(call, ctx), ctx)
    },
    ...(tool.before && {
      async before(input, ctx) {
        if (player.isLive) return tool.before!(input, ctx)
        const result = await replayed(recorded.take(name, 'before', ctx, plainInput(input)), ctx)
        if ('error' in result) throw fromTapedError(result.error)
        return ('facts' in result ? copyJson(result.facts) : {}) as Readonly<Record<string, unknown>>
      },
    }),
  }

  async function replayed(call: RecordedCall, ctx: ToolContext): Promise<TapedResult> {
    for (const { position, step } of call.steps) {
      await player.turn(position)
      perform(step, ctx)
    }
    if (!call.result) return new Promise(() => {}) // it never ended in the recording
    await player.turn(call.result.position)
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
      // What is written to the log must be the same; the input of a call is compared by the called tool.
      if (value.step.did === 'append' && now.did === 'append' && !isSameInput(value.step.bodies, now.bodies))
        throw player.fail(
          differenceError(`call ${call.callId} of tool "${name}"`, {
            field: 'what it appends to the log',
            recorded: value.step.bodies,
            now: now.bodies,
          }),
        )
      return value.position
    }
    const observed = observedContext(ctx, {
      async mark(step) {
        if (!player.isLive) await player.turn(next(step))
      },
      note(step) {
        if (!player.isLive) player.use(next(step))
      },
    })
    let given: { value: unknown } | { error: unknown }
    try {
      given = { value: await tool.execute(input as never, observed) }
    } catch (error) {
      given = { error }
    }
    if (call.result && !player.failure) await player.turn(call.result.position)
    if ('error' in given) throw given.error
    return given.value
  }
}

/** Repeats what the tool did through its context; its result comes from the tape. */
function perform(step: ToolStep, ctx: ToolContext): void {
  if (step.did === 'progress') ctx.progress(step.text)
  if (step.did === 'append') Promise.resolve(ctx.log.appendAll(copyJson(step.bodies))).catch(() => {})
  if (step.did === 'call') ctx.call(step.tool, step.input as Record<string, unknown>).catch(() => {})
}

function outcomeOf(result: TapedResult, ctx: ToolContext): object {
  if ('suspended' in result) return ctx.suspend(result.suspended)
  if ('error' in result) throw fromTapedError(result.error)
  return 'outcome' in result ? copyJson(result.outcome) : {}
}
