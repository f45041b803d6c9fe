import type { Clock } from '../core/clock.ts'
import type { Provider } from '../core/provider.ts'
import type { ToolDef } from '../core/tool.ts'
import { Player, type PlayerOptions, told } from './cassette/player.ts'
import { readCassette } from './cassette/read-cassette.ts'
import { ReplayError } from './cassette/replay-error.ts'
import { RecordedRequests, replayProvider } from './cassette/replay-provider.ts'
import { RecordedTools, replayTool } from './cassette/replay-tool.ts'
import { mapTools } from './record.ts'

export interface ReplayOptions extends PlayerOptions {
  /** So many model requests are answered from the tape; then `goOnWith` goes on, with real tools, time and ids. */
  readonly until?: number
  readonly goOnWith?: Provider
}

/** Gives back what `record` took down, to the same agent. */
export interface Replay {
  /** In the order in which they were recorded. The real one is asked for its `view` only, if it has one. */
  provider(real?: Provider): Provider
  /** The real tools say what they are; they run only where they had a child agent, or after the tape. */
  tools<Tools extends Readonly<Record<string, ToolDef>>>(tools: Tools): Tools
  clock(): Clock
  ids(): () => string
  random(): () => number
  /** How many model requests were recorded. */
  readonly steps: number
  /** Throws the first difference, or an error that names what was recorded and never asked for. */
  done(): void
}

/**
 * Plays a cassette: without network, and with the same log as when it was recorded, to the byte (where there was a
 * secret, the log has its placeholder). The first request or tool input that is another one fails the run with a
 * `ReplayError` that shows the difference. What comes from you (prompts, steering, aborts) you give again.
 */
export function replay(cassette: string, options: ReplayOptions = {}): Replay {
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
      const named = [...new Set(unused.map(told))]
      const more = named.length > 10 ? `, and ${named.length - 10} more` : ''
      throw new ReplayError(
        `The replay ended before the recording did. Not used: ${named.slice(0, 10).join(', ')}${more}`,
      )
    },
  }
}

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

/** Timers fire at their place on the tape; those that are still set when the tape is left go on in real time. */
class Timers {
  readonly #player: Player
  readonly #set: number[] = []
  readonly #fired = new Map<number, number>()
  #next = 0

  constructor(player: Player) {
    this.#player = player
    for (const [place, item] of player.items.entries()) {
      if (item.type === 'timer') this.#set.push(place)
      if (item.type === 'fired') this.#fired.set(item.n, place)
    }
  }

  set(ms: number, fn: () => void): () => void {
    const player = this.#player
    if (player.isLive) return player.clock.timer(ms, fn)
    let isOff = player.failure !== undefined
    let cancel: (() => void) | undefined
    const place = this.#set[this.#next++]
    const item = place === undefined ? undefined : player.items[place]
    if (place === undefined || item?.type !== 'timer') {
      if (!player.failure)
        throw player.fail(new ReplayError(`The recording has no further timer, this one is of ${ms} ms`))
      return () => {}
    }
    player.use(place)
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
