import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { entry, hour, input, item, lease } from '../../testing/store-contract-kit.ts'
import { createJsonlStore } from '../jsonl-store.ts'
import { linesOf } from './log-lines.ts'

const root = fs.mkdtempSync(join(tmpdir(), 'libero-inbox-'))
afterAll(() => fs.rmSync(root, { recursive: true, force: true }))

test.each(['sent', 'looked at by its reader'])(
  'ST11 a message that was %s while the log had lines that were removed later is found where it is delivered',
  async (what) => {
    const dir = join(root, what)
    const store = createJsonlStore({ dir, sync: false })
    const { epoch } = await lease(store)
    const inboxNow = async () => (await store.lease('s', { owner: 'ann', ttlMs: hour + Math.random(), epoch })).inbox
    await store.append('s', [entry(1, 'x'.repeat(300_000)), entry(2)], { epoch, head: 0 })
    if (what !== 'sent') await store.send('s', item('k', 'hello'))
    // Lines that could not be synced, or were lost in a power failure.
    const log = join(dir, 's/log.jsonl')
    const { size } = fs.statSync(log)
    fs.appendFileSync(log, linesOf([entry(3, 'y'.repeat(300_000)), entry(4)]))
    if (what === 'sent') await store.send('s', item('k', 'hello'))
    expect(await inboxNow()).toEqual([item('k', 'hello')])
    fs.truncateSync(log, size)
    await store.append('s', [input(3, 'k', 'hello'), entry(4, 'z'.repeat(400_000))], { epoch, head: 2 })
    expect(await inboxNow()).toEqual([])
    await store.close?.()
  },
)

test('a message that waits is not searched for again in the part of a long log that was searched', async () => {
  const dir = join(root, 'long')
  const store = createJsonlStore({ dir, sync: false })
  const { epoch } = await lease(store)
  for (let head = 0; head < 10; head++) await store.append('s', [entry(head + 1, 'x'.repeat(100_000))], { epoch, head })
  await store.send('s', item('k', 'hello'))
  // If that part was read again, it would be found there.
  const log = join(dir, 's/log.jsonl')
  const bytes = fs.readFileSync(log)
  bytes.write(`{"clientKey":"k"}\n`)
  fs.writeFileSync(log, bytes)
  expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([item('k', 'hello')])
  await store.append('s', [input(11, 'k', 'hello')], { epoch, head: 10 })
  expect((await store.lease('s', { owner: 'ann', ttlMs: hour, epoch })).inbox).toEqual([])
})
