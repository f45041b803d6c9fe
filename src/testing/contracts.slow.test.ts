import { describe, expect, test } from 'vitest'
import { catches, type Mutants } from '../../test/contract-mutants.ts'
import { contractOf } from '../../test/store-mutants.ts'
import type { ModelEvent, Provider } from '../core/provider.ts'
import type { Fence, SessionStore } from '../core/store.ts'
import { textOf } from '../core/turn.ts'
import { createMemoryStore } from '../sessions/memory-store.ts'
import { createSession } from '../sessions/session.ts'
import { type ContractCase, call, providerContract, type Step, scripted } from './index.ts'

describe('the memory store', () => run(contractOf((store) => store)))
describe('the scripted provider', () => run(providerContract(answering, requests)))

test('deleting the session of a child deletes those of its own children', async () => {
  const store = createMemoryStore()
  const parent = await createSession({ store, id: 'p' })
  await parent.open()
  const child = await parent.child('c')
  for (const session of [parent, child, await child.child('g')]) await session.startRun({ runId: 'r', model: 'm' })
  await parent.release()
  await store.delete('p/c')
  expect(await store.list()).toMatchObject({ sessions: [{ id: 'p', head: 1 }] })
})

describe('the store contract catches', () => {
  const mutants: Mutants<SessionStore> = {
    'a store that ignores the head': [
      'an append at another head is refused and writes nothing',
      (good) => ({
        ...good,
        append: async (id, entries, fence) => {
          const head = (await good.read(id)).length
          await good.append(id, entries, { ...fence, head })
        },
      }),
    ],
    'a store that does not recognise an append it has seen': [
      'an append that happened may be repeated',
      (good) => ({
        ...good,
        async append(id, entries, fence) {
          if ((await good.read(id)).length !== fence.head) throw new Error('conflict')
          await good.append(id, entries, fence)
        },
      }),
    ],
    'a store that ignores the epoch': [
      'a lease may be taken over, and the old writer is fenced off',
      (good) => unfenced(good, () => true),
    ],
    'a store that looks at the head first and writes later': [
      'of ten appends at the same head exactly one happens',
      (good) => {
        let queue: Promise<void> = Promise.resolve()
        const append: SessionStore['append'] = async (id, entries, fence) => {
          if ((await good.read(id)).length !== fence.head) return good.append(id, entries, fence)
          queue = queue.then(async () => good.append(id, entries, { ...fence, head: (await good.read(id)).length }))
          await queue
        }
        return { ...good, append }
      },
    ],
    'a store that writes one entry after the other': [
      'an append at another head is refused and writes nothing',
      (good) => ({
        ...good,
        async append(id, entries, fence) {
          for (const [i, entry] of entries.entries()) await good.append(id, [entry], { ...fence, head: fence.head + i })
        },
      }),
    ],
    'a store that gives a held lease to another owner': [
      'a lease that is held keeps others out, and the error names its owner',
      (good) => ({ ...good, lease: (id, request) => good.lease(id, { takeOver: true, ...request }) }),
    ],
    'a store whose leases never end': [
      'a lease that was not renewed expires',
      (good) => ({
        ...good,
        lease: (id, request) => good.lease(id, { ...request, ttlMs: request.ttlMs && Number.MAX_SAFE_INTEGER }),
      }),
    ],
    'a store that keeps a lease that was given back': [
      'a lease that is given back is free at once',
      (good) => ({ ...good, lease: (id, request) => good.lease(id, { ...request, ttlMs: request.ttlMs || 1000 }) }),
    ],
    'a store that delivers a message twice': [
      'sending a key again after its delivery changes nothing',
      (good) => {
        const inbox: Parameters<SessionStore['send']>[1][] = []
        const send: SessionStore['send'] = async (_, item) => void inbox.push(item)
        return { ...good, send, lease: async (id, request) => ({ ...(await good.lease(id, request)), inbox }) }
      },
    ],
    'a store that drops entries it does not know': [
      'entries of every kind survive unchanged, unknown types too',
      (good) => ({
        ...good,
        read: async (id, after) =>
          (await good.read(id, after)).filter(({ type }) => type === 'turn' || type === 'state'),
      }),
    ],
    'a watcher that starts with what comes': [
      'a watcher gets what is there and then what comes',
      (good) => ({
        ...good,
        async *watch(id, options) {
          yield* good.watch(id, { ...options, after: (await good.read(id)).length })
        },
      }),
    ],
    'a watcher that does not listen to its signal': [
      'a watcher ends when its signal is aborted, before or while it waits',
      (good) => ({ ...good, watch: (id, options) => good.watch(id, { ...options, signal: neverAborted() }) }),
    ],
    'a store that keeps bytes as text': [
      'bytes survive in a blob, and an unknown name is undefined',
      (good) => ({
        ...good,
        blobs: (id) => ({
          ...good.blobs(id),
          put: (bytes) => good.blobs(id).put(new TextEncoder().encode(new TextDecoder().decode(bytes))),
        }),
      }),
    ],
    'a store that lets children write without their parent': [
      'a child cannot be written any more once the lease of its parent is lost',
      (good) => unfenced(good, ({ holder }) => holder !== undefined),
    ],
    'a store that forgets the children of what it deletes': [
      'delete removes children, inbox and blobs, and keeps other sessions',
      (good) => ({
        ...good,
        async append(id, entries, { holder, parent: _, ...fence }) {
          const { epoch } =
            holder === undefined ? fence : await good.lease(id, { owner: 'child', ttlMs: 0, create: true })
          await good.append(id, entries, { ...fence, epoch })
        },
      }),
    ],
  }
  catches(mutants, contractOf)
})

describe('the provider contract catches', () => {
  const mutants: Mutants<Provider> = {
    'a provider that goes on after its reply': [
      'ends with exactly one reply and says nothing after it',
      altered(async function* (events) {
        yield* events
        yield { type: 'text', delta: ' and more' }
      }),
    ],
    'a provider that loses a piece of text': [
      'streams text and thinking that join to those of the reply',
      altered(async function* (events) {
        let n = 0
        for await (const event of events) if (event.type !== 'text' || n++ !== 1) yield event
      }),
    ],
    'a provider that streams calls under other ids': [
      'streams each tool call under the id of the reply, with arguments that join to its input',
      altered(async function* (events) {
        for await (const event of events) yield 'id' in event ? { ...event, id: `call_${event.id}` } : event
      }),
    ],
    'a provider that ends a call before its arguments': [
      'starts a tool call before its arguments and ends it after them',
      altered(async function* (events) {
        for await (const event of events) {
          if (event.type === 'tool_args') yield { type: 'tool_end', id: event.id }
          if (event.type !== 'tool_end') yield event
        }
      }),
    ],
    'a provider that does not know its usage': [
      'counts usage in finite numbers that are not negative',
      altered(async function* (events) {
        for await (const event of events)
          yield event.type === 'reply' ? { ...event, usage: { input: Number.NaN, output: 1 } } : event
      }),
    ],
    'a provider that edits the request': [
      'leaves the request as it was',
      (good) => ({
        ...good,
        stream(request, signal) {
          Object.assign(request, { maxTokens: 1 })
          return good.stream(request, signal)
        },
      }),
    ],
    'a provider with one buffer for all streams': [
      'keeps two streams at once apart',
      (good) => {
        let text = ''
        return altered(async function* (events) {
          for await (const event of events) {
            if (event.type === 'start') text = ''
            if (event.type === 'text') text += event.delta
            yield event.type === 'reply' ? { ...event, content: [{ type: 'text', text }] } : event
          }
        })(good)
      },
    ],
    'a provider that ignores its signal': [
      'stops when its signal is aborted on the way',
      (good) => ({ ...good, stream: (request) => good.stream(request, neverAborted()) }),
    ],
    'a provider that takes an abort for a failure': [
      'gives no reply when its signal was aborted before',
      (good) => ({
        ...good,
        classifyError: () => ({ kind: 'provider_error', retryable: true }),
        async *stream(request, signal) {
          signal.throwIfAborted()
          yield* good.stream(request, signal)
        },
      }),
    ],
    'a provider that ends quietly when the service fails': [
      'throws when the service fails, and can say what that means',
      altered(async function* (events) {
        try {
          yield* events
        } catch {}
      }),
    ],
    'a provider that expects every error to be its own': [
      'classifyError, if there is one, accepts any value',
      (good) => ({ ...good, classifyError: (error) => ((error as { status: number }).status === 429 ? null : null) }),
    ],
  }
  catches(mutants, (wrap) => providerContract(() => wrap(answering()), requests))
})

function run(cases: readonly ContractCase[]): void {
  for (const one of cases) test(one.name, one.run)
}

const neverAborted = (): AbortSignal => new AbortController().signal

/** Whatever epoch a writer shows, the present one is taken. */
function unfenced(good: SessionStore, when: (fence: Fence) => boolean): SessionStore {
  const epochs = new Map<string, number>()
  return {
    ...good,
    async lease(id, request) {
      const lease = await good.lease(id, request)
      epochs.set(id, lease.epoch)
      return lease
    },
    append: (id, entries, fence) =>
      good.append(id, entries, when(fence) ? { ...fence, epoch: epochs.get(fence.holder ?? id) ?? 0 } : fence),
  }
}

function altered(change: (events: AsyncIterable<ModelEvent>) => AsyncIterable<ModelEvent>) {
  return (good: Provider): Provider => ({ ...good, stream: (request, signal) => change(good.stream(request, signal)) })
}

const asking = (text: string) => ({ messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text }] }] })
const requests = { text: asking('talk'), toolCall: asking('call'), failing: asking('fail') }

/** Answers by what is asked, as often as asked. */
function answering(): Provider {
  const answer: Step = ({ messages }) => {
    const asked = textOf(messages.at(-1)!)
    if (asked === 'fail') return new Error('the service is down')
    if (asked === 'call') return [call('c1', 'lookup', { word: 'ä', deep: [{ n: 1 }] }), call('c2', 'noop')]
    return { thinking: 'Something to think about.', text: 'An answer that comes in several pieces.' }
  }
  return scripted(answer, answer, answer)
}
