import type { ModelEvent, ModelRequest, Provider } from '../../src/core/provider.ts'
import type { SessionContentBlock } from '../../src/core/turn.ts'
import type { SessionStore, TurnUsage } from '../../src/types.ts'

/** Numbers from 0 to 1 that are the same for the same seed. */
export function seeded(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

export const price = { input: 3e-6, cacheWrite: 3.75e-6, output: 15e-6 }

/** Dollars, as our service counts them. */
export const costOf = (_model: string, { input, output, cacheCreation = 0 }: TurnUsage): number =>
  input * price.input + cacheCreation * price.cacheWrite + output * price.output

export interface Bill {
  cost: number
  tokens: number
  requests: number
}

export interface GreedyOptions {
  readonly random: () => number
  /** How often a request goes wrong. */
  readonly trouble?: number
  /** The reply of the model; the caller makes its calls unique. */
  readonly say: (request: ModelRequest) => readonly SessionContentBlock[]
  /** Once true, nothing happens any more: the process is dead. */
  readonly isDead?: () => boolean
}

/** A service that bills all that a request allows it to, and goes wrong now and then. */
export function greedy({ random, trouble = 0, say, isDead = () => false }: GreedyOptions): Provider & { bill: Bill } {
  const tokensPerByte = 0.15 + random() * 0.15
  const bill: Bill = { cost: 0, tokens: 0, requests: 0 }
  const alive = async (): Promise<void> => {
    for (let i = Math.floor(random() * 12); i > 0; i--) await null
    if (isDead()) await new Promise(() => {})
  }
  const charge = (request: ModelRequest, output: number): TurnUsage => {
    const read = Math.ceil(bytesOf(request) * tokensPerByte)
    const usage = random() < 0.5 ? { input: read, output } : { input: 0, cacheCreation: read, output }
    const cost = costOf(request.model, usage)
    bill.cost += cost
    bill.tokens += read + output
    bill.requests++
    return { ...usage, cost }
  }
  async function* attempt(request: ModelRequest): AsyncGenerator<ModelEvent, 'failed' | undefined> {
    await alive()
    const isTrouble = random() < trouble
    if (isTrouble && random() < 0.4) return 'failed' // it was never accepted, and costs nothing
    const text = 'x y '.repeat(Math.floor(random() * 20))
    const usage = charge(request, isTrouble ? Math.floor(text.length / 4) : request.maxTokens)
    yield { type: 'start' }
    await alive()
    if (text) yield { type: 'text', delta: text }
    await alive()
    if (isTrouble && random() < 0.3) throw Object.assign(new Error('cut'), { usage })
    if (isTrouble) return 'failed'
    const content = say(request)
    const stop = content.some(({ type }) => type === 'tool_call') ? 'tool_use' : 'end'
    yield { type: 'reply', content, usage, stop }
    return undefined
  }
  return {
    bill,
    meta: { name: 'greedy', defaultModel: 'greedy-1' },
    costOf,
    async *stream(request) {
      for (let n = 2; n < 5; n++) {
        if ((yield* attempt(request)) !== 'failed') return
        if (random() < 0.3) break
        yield { type: 'retry', attempt: n, reason: 'it broke' }
      }
      throw new Error('it broke for good')
    },
  }
}

/** Counted in a way of its own. */
function bytesOf({ system, tools, messages }: ModelRequest): number {
  const texts = messages.flatMap(({ content }) =>
    content.map((block) => JSON.stringify({ ...block, id: undefined }).length),
  )
  return system.length + JSON.stringify(tools).length + texts.reduce((sum, length) => sum + length, 0)
}

/** A store whose process dies over its `n`-th append. */
export function dyingStore(store: SessionStore, n: number, die: () => void): SessionStore {
  let left = n
  return {
    ...store,
    append(...args) {
      if (--left === 0) die()
      return left <= 0 ? new Promise(() => {}) : store.append(...args)
    },
  }
}
