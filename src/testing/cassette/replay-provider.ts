import type { ModelEvent, ModelRequest, Provider, ProviderMeta } from '../../core/provider.ts'
import { copyJson } from '../../core/turn.ts'
import { differenceError, differenceOf, ReplayError } from './differences.ts'
import type { Player } from './player.ts'
import type { Cassette } from './read-cassette.ts'
import {
  fromTapedError,
  stableText,
  type TapedError,
  type TapedRequest,
  type TapeItem,
  toTapedRequest,
} from './tape-items.ts'

type ReplyItem = Extract<TapeItem, { type: 'event' | 'failed' | 'ended' }>

interface RecordedRequest {
  readonly n: number
  readonly by: number
  readonly position: number
  readonly session: string | undefined
  readonly request: TapedRequest
  readonly reply: { readonly position: number; readonly item: ReplyItem }[]
}

/** The model requests of a tape. Parallel agents make them in any order, so a reply is found by its request. */
export class RecordedRequests {
  readonly all: readonly RecordedRequest[]
  readonly #player: Player
  readonly #until: number
  #served = 0

  constructor(player: Player, until = Number.POSITIVE_INFINITY) {
    this.#player = player
    this.#until = until
    const all = new Map<number, RecordedRequest>()
    for (const [position, item] of player.items.entries()) {
      if (item.type === 'request')
        all.set(item.n, { ...item, position, session: item.session, request: item.request, reply: [] })
      if (item.type === 'event' || item.type === 'failed' || item.type === 'ended')
        all.get(item.n)?.reply.push({ position, item })
    }
    this.all = [...all.values()]
  }

  /** The recorded request that equals the given one; `undefined` if the tape is left here. */
  take(request: ModelRequest, by: number): RecordedRequest | undefined {
    const player = this.#player
    if (player.failure) throw player.failure
    if (this.#served >= this.#until) player.goLive()
    if (player.isLive) return undefined
    this.#served++
    const now = toTapedRequest(request)
    const open = this.all.filter((one) => one.by === by && !player.isUsed(one.position))
    const own = open.filter((one) => one.session === request.sessionId)
    const found = [...own, ...open].find((one) => !differenceOf(one.request, now))
    if (found) {
      player.use(found.position)
      return found
    }
    throw player.fail(this.#mismatch(own[0] ?? open[0], now))
  }

  #mismatch(meant: RecordedRequest | undefined, now: TapedRequest): ReplayError {
    const difference = meant && differenceOf(meant.request, now)
    if (difference) return differenceError(`step ${meant.n}`, difference, { step: meant.n })
    const steps = this.all.length
    return new ReplayError(
      `The replay went further than the recording: it has ${steps} model requests, and this is one more; record it again`,
      { step: steps + 1 },
    )
  }
}

interface ReplayProviderOptions {
  readonly player: Player
  readonly requests: RecordedRequests
  readonly facts: Cassette['facts']
  readonly by: number
  /** Used only for `view`, which needs no network. */
  readonly real: Provider | undefined
  /** The provider that answers after the tape. */
  readonly goOnWith: Provider | undefined
}

/** A provider that gives the recorded replies, as long as the requests equal the recorded ones. */
export function replayProvider({ player, requests, facts, by, real, goOnWith }: ReplayProviderOptions): Provider {
  const recorded = facts.find((fact) => fact.type === 'provider' && fact.n === by)
  if (recorded?.type !== 'provider')
    throw new ReplayError(`The recording has ${by - 1} providers, this is one more; record it again`)
  const answers = new Map<string, unknown>()
  for (const fact of facts)
    if (fact.type === 'answer' && fact.by === by) answers.set(`${fact.question} ${fact.about}`, fact.value)
  const failures = new WeakMap<Error, TapedError>()
  const has = (name: string): boolean => recorded.has.includes(name)
  const answer = <Value>(question: string, about: string): Value => answers.get(`${question} ${about}`) as Value

  return {
    meta: metaOf(),
    stream: (request, signal) => stream(request, signal),
    classifyError: (error) =>
      (error instanceof Error && failures.get(error)?.classified) || (goOnWith?.classifyError?.(error) ?? null),
    ...(real?.view && { view: (messages) => real.view!(messages) }),
    ...(has('displayName') && { displayName: (name) => answer<string>('displayName', name) ?? name }),
    ...(has('contextWindow') && {
      contextWindow: (model) => (player.isLive ? goOnWith?.contextWindow?.(model) : answer('contextWindow', model)),
    }),
    ...(has('costOf') && {
      costOf: (model, usage) =>
        player.isLive ? goOnWith?.costOf?.(model, usage) : answer('costOf', stableText([model, usage])),
    }),
  }

  function metaOf(): ProviderMeta {
    const { meta } = recorded as { meta: ProviderMeta }
    if (!has('structuredOutput')) return meta
    const structuredOutput = (model: string): boolean => answer<boolean>('structuredOutput', model) ?? false
    return { ...meta, capabilities: { ...meta.capabilities, structuredOutput } }
  }

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    const found = requests.take(request, by)
    if (!found) {
      if (!goOnWith)
        throw new ReplayError('The tape was left, but there is no provider to go on with; pass one as `goOnWith`')
      yield* goOnWith.stream(request, signal)
      return
    }
    for (const { position, item } of found.reply) {
      await player.turn(position)
      if (item.type === 'ended') return
      if (item.type === 'failed') {
        const error = fromTapedError(item.error)
        failures.set(error, item.error)
        throw error
      }
      yield copyJson(item.event)
    }
    await new Promise(() => {}) // in the recording the rest was not awaited
  }
}
