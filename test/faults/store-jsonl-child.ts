import { writeSync } from 'node:fs'
import { onFailpoint } from '../../src/core/log.ts'
import { createJsonlStore } from '../../src/sessions/jsonl-store.ts'
import { entry, item } from '../../src/testing/store-contract-kit.ts'

/** Another process at a JSONL store. Says what it did, a JSON text a line. */
const [dir = '', what = '', ...rest] = process.argv.slice(2)
const store = createJsonlStore({ dir })
const minute = 60_000

const say = (value: unknown): void => void writeSync(1, `${JSON.stringify(value)}\n`)

/** The outcome as something that can be said. */
async function outcome(work: Promise<unknown>): Promise<unknown> {
  try {
    await work
    return 'done'
  } catch (error) {
    const { name, owner, code } = error as { name: string; owner?: string; code?: string }
    return { name, owner, code }
  }
}

/** At a failpoint: stops or kills this very process. */
function signalAt(failpoint: string, signal: NodeJS.Signals): void {
  onFailpoint((name) => {
    if (name.split(':')[0] !== failpoint) return
    onFailpoint(undefined)
    say(`at ${failpoint}`)
    process.kill(process.pid, signal)
  })
}

const deeds: Record<string, () => Promise<void>> = {
  /** Appends, and is stopped in the middle of the second append. */
  async stopped() {
    const [failpoint = '', ttlMs = '', child] = rest
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: Number(ttlMs), create: true })
    await store.append('s', [entry(1)], { epoch, head: 0 })
    const [id, fence] = child ? [child, { epoch, head: 0, holder: 's', parent: 's' }] : ['s', { epoch, head: 1 }]
    signalAt(failpoint, 'SIGSTOP')
    say(await outcome(store.append(id, [entry(fence.head + 1, 'late')], fence)))
    say(await outcome(store.append('s', [entry(2, 'later still')], { epoch, head: 1 })))
    say(await outcome(store.lease('s', { owner: 'ann', ttlMs: minute, epoch })))
  },

  /** Takes the lease of a session, is stopped while it does so, and then writes. */
  async stoppedTaking() {
    const [failpoint = '', id = ''] = rest
    signalAt(failpoint, 'SIGSTOP')
    const { epoch, head } = await store.lease(id, { owner: 'bob', ttlMs: minute, create: true })
    say({ head })
    say(await outcome(store.append(id, [entry(head + 1, 'by bob')], { epoch, head })))
  },

  /** Does everything that changes a list, and is killed at one of the failpoints; says how many it passed. */
  async change() {
    let passed = 0
    onFailpoint(() => {
      if (++passed === Number(rest[0])) process.kill(process.pid, 'SIGKILL')
    })
    const { epoch, head } = await store.lease('s', { owner: 'ann', ttlMs: minute, create: true })
    const run = { type: 'run_started', runId: 'r', model: 'm', seq: head + 1, id: 'run', at: 7 } as const
    await store.append('s', [run, { type: 'details', tags: ['t'], seq: head + 2, id: 'd', at: 8 }], { epoch, head })
    await store.append('s/c', [entry(1)], { epoch, head: 0, holder: 's', parent: 's' })
    await store.list()
    await store.append('s/c', [entry(2)], { epoch, head: 1, holder: 's', parent: 's' })
    const tagged = { type: 'details', tags: ['late'], seq: head + 3, id: 'e', at: 9 } as const
    await Promise.all([store.append('s', [tagged], { epoch, head: head + 2 }), store.list({ kind: 'none' })])
    const { epoch: forked } = await store.lease('f', { owner: 'ann', ttlMs: minute, create: true })
    await store.append('f', [entry(3, 'x'.repeat(300_000))], { epoch: forked, head: 2, base: 's' })
    await store.send('f', item('k', 'hello'))
    await store.list()
    const input = { type: 'input', mode: 'steer', clientKey: 'k', content: [], seq: 4, id: 'i', at: 9 } as const
    await store.append('f', [input], { epoch: forked, head: 3 })
    await store.lease('f', { owner: 'ann', ttlMs: 0, epoch: forked })
    await store.delete('t')
    await store.lease('u', { owner: 'ann', ttlMs: minute, takeOver: true })
    await store.list()
    await store.lease('only leased', { owner: 'ann', ttlMs: minute, create: true })
    say(passed)
    process.exit() // without giving back the leases
  },

  /** Takes the lease and lives on with it. */
  async hold() {
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: minute, create: true })
    await store.append('s', [entry(1)], { epoch, head: 0 })
    say('holding')
    setInterval(() => {}, minute)
  },

  /** Dies at a failpoint, doing everything that a store does. */
  async die() {
    const [failpoint = ''] = rest
    const { epoch, head } = await store.lease('s', { owner: 'bob', ttlMs: minute, takeOver: true, create: true })
    await store.append('s', [entry(head + 1, 'acked')], { epoch, head })
    say({ acked: head + 1 })
    if (!failpoint.includes('takeover')) signalAt(failpoint, 'SIGKILL')
    await store.append('s', [entry(head + 2, 'x'), entry(head + 3, 'y')], { epoch, head: head + 1 })
    await store.send('s', item('from the dead', 'hello'))
    await store.blobs('s').put(Uint8Array.of(1))
    await store.lease('s', { owner: 'bob', ttlMs: 0, epoch })
    await store.delete('t')
  },

  /** Takes over, and dies in it. */
  async dieTaking() {
    signalAt(rest[0] ?? '', 'SIGKILL')
    await store.lease('s', { owner: 'bob', ttlMs: minute, takeOver: true, create: true })
  },

  async send() {
    for (const key of rest) await store.send('s', item(key, `${key} ${'x'.repeat(3000)}`))
    say('sent')
  },

  /** Adds so many entries, each under a lease of its own. */
  async add() {
    const [owner = '', count = ''] = rest
    for (let i = 0; i < Number(count); ) {
      try {
        const { epoch, head } = await store.lease('s', { owner, ttlMs: minute, create: true })
        await store.append('s', [entry(head + 1, `${owner} ${i}`)], { epoch, head })
        await store.lease('s', { owner, ttlMs: 0, epoch })
        i++
      } catch (error) {
        if ((error as Error).name !== 'SessionBusyError') throw error
        await new Promise((resolve) => setTimeout(resolve, 1))
      }
    }
    say('added')
  },

  /** Without the rights of root, where it has them. */
  async powerless() {
    if (process.getuid?.() === 0) process.setuid?.(65_534)
    say({
      read: (await store.read('s')).length,
      list: (await store.list()).sessions.length,
      lease: await outcome(store.lease('s', { owner: 'nobody', ttlMs: minute, create: true })),
      send: await outcome(store.send('s', item('k', 'hello'))),
      blob: await outcome(store.blobs('s').put(Uint8Array.of(1))),
    })
  },

  /** Does what it can with a session in which something is wrong. */
  async meet() {
    say({
      read: await outcome(store.read('s')),
      lease: await outcome(store.lease('s', { owner: 'bob', ttlMs: minute, create: true })),
      send: await outcome(store.send('s', item('k', 'hello'))),
    })
  },

  /** Writes until files may not grow any more. */
  async fill() {
    process.on('SIGXFSZ', () => {})
    const { epoch } = await store.lease('s', { owner: 'ann', ttlMs: minute, create: true })
    for (let head = 0; ; head++) {
      const text = `${head} ${'x'.repeat(700)}`
      const result = await outcome(store.append('s', [entry(head + 1, text)], { epoch, head }))
      if (result === 'done') continue
      const again = await outcome(store.append('s', [entry(head + 1, 'short')], { epoch, head }))
      say({ result, again, head })
      break
    }
    await store.lease('s', { owner: 'ann', ttlMs: 0, epoch })
  },
}

await deeds[what]?.()
