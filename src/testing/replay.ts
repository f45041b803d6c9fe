import type { Clock } from '../core/clock.ts'
import type { Provider } from '../core/provider.ts'
import type { ToolDef } from '../core/tool.ts'
import { ReplayError } from './cassette/differences.ts'
import { describeItem, Player } from './cassette/player.ts'
import { readCassette } from './cassette/read-cassette.ts'
import { RecordedRequests, replayProvider } from './cassette/replay-provider.ts'
import { RecordedTools, replayTool } from './cassette/replay-tool.ts'
import { mapTools } from './record.ts'

/** Plays a recording back to the same agent. */
export interface Replay {
  /** Call it in the order of the recording. Only the `view` of the real provider is used, if it has one. */
  provider(real?: Provider): Provider
  /** The real tools give their definitions; they run only if they had a child agent, or after the tape. */
  tools<Tools extends Readonly<Record<string, ToolDef>>>(tools: Tools): Tools
  clock(): Clock
  ids(): () => string
  random(): () => number
  /** How many model requests were recorded. */
  readonly steps: number
  /** Throws the first difference, or an error that names recorded items that were not used. */
  done(): void
}

/**
 * Plays a cassette without network. The log has the same bytes as in the recording, with placeholders for secrets. The first
 * request or tool input that differs fails the run with a `ReplayError` that shows the difference. Prompts, steering and
 * aborts must be given again.
 */
export function replay(
  cassette: string,
  options: {
    /** Time and ids after the end of the tape. */
    readonly clock?: Clock
    readonly newId?: () => string
    /** How long to wait for the next recorded item before the replay fails. Default 5 s of real time. */
    readonly stallTimeoutMs?: number
    /** How many model requests are answered from the tape; after that `goOnWith` answers, with real tools, time and ids. */
    readonly until?: number
    readonly goOnWith?: Provider
  } = {},
): Replay {
  const { until, goOnWith } = checked(options)
  const tape = readCassette(cassette)
  const player = new Player(tape, options)
  const requests = new RecordedRequests(player, until)
  const tools = new RecordedTools(player)
  const timers = new Timers(player)
  let providers = 0
  return {
    provider: (real) => replayProvider({ player, requests, facts: tape.facts, by: ++providers, real, goOnWith }),
    tools: (real) => mapTools(real, (name, tool) => replayTool(player, tools, name, tool)),
    clock: () => ({ now: () => player.now(), timer: (ms, fn) => timers.set(ms, fn) }),
    ids: () => () => player.id(),
    random: () => () => player.random(),
    steps: requests.all.length,
    done() {
      if (player.failure) throw player.failure
      const unused = player.isLive ? [] : player.unused()
      if (unused.length === 0) return
      const named = [...new Set(unused.map(describeItem))]
      const more = named.length > 10 ? `, and ${named.length - 10} more` : ''
      throw new ReplayError(
        `The replay ended before the recording did. Not used: ${named.slice(0, 10).join(', ')}${more}`,
      )
    },
  }
}

type ReplayOptions = NonNullable<Parameters<typeof replay>[1]>

function checked(options: ReplayOptions): ReplayOptions {
  const { until, goOnWith } = options
  if (until !== undefined && !(Number.isInteger(until) && until >= 0))
    throw new TypeError(`replay option "until" must be a number of model requests such as 3, got ${String(until)}`)
  if ((until === undefined) !== (goOnWith === undefined))
    throw new TypeError(
      'replay options "until" and "goOnWith" belong together: how many steps, and who goes on after them',
    )
  return options
}

/** Timers fire at their position on the tape; those that are still set when the tape is left use the real clock. */
class Timers {
  readonly #player: Player
  readonly #set: number[] = []
  readonly #fired = new Map<number, number>()
  #next = 0

  constructor(player: Player) {
    this.#player = player
    for (const [position, item] of player.items.entries()) {
      if (item.type === 'timer') this.#set.push(position)
      if (item.type === 'fired') this.#fired.set(item.n, position)
    }
  }

  set(ms: number, fn: () => void): () => void {
    const player = this.#player
    if (player.isLive) return player.clock.timer(ms, fn)
    let isOff = player.failure !== undefined
    let cancel: (() => void) | undefined
    const position = this.#set[this.#next++]
    const item = position === undefined ? undefined : player.items[position]
    if (position === undefined || item?.type !== 'timer') {
      if (!player.failure)
        throw player.fail(new ReplayError(`The recording has no further timer, this one is of ${ms} ms`))
      return () => {}
    }
    player.use(position)
    player.whenLive(() => {
      if (!isOff) cancel = player.clock.timer(ms, fn)
    })
    const fires = this.#fired.get(item.n)
    if (fires !== undefined)
      player.turn(fires).then(
        () => {
          if (isOff || player.isLive) return
          isOff = true
          fn()
        },
        () => {},
      )
    return () => {
      isOff = true
      cancel?.()
    }
  }
}
