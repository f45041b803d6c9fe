import { expect, test } from 'vitest'
import type { AuditRecord } from '../core/authority.ts'
import { createAgent } from '../create-agent.ts'
import { createProcessContext } from '../execution/process.ts'
import { call, scripted, tool } from '../testing/index.ts'
import { type AuthorityOptions, createAuthority } from './authority.ts'
import type { JudgedCall } from './judged-call.ts'

const write = tool('write', () => 'done', { effects: ['fs.write'] })
const by = { by: 'ann' }
const writing: JudgedCall = {
  ...{ tool: 'write', origin: { layer: 'host' }, gated: true, input: {}, key: 'a', digest: '' },
  effects: [{ effect: 'fs.write', target: '/w/a' }],
}

test('UI28 the mode changes during a run, from the next call on', async () => {
  const { authority, records } = recorded({ mode: 'plan' })
  const provider = scripted(
    [call('1', 'write')],
    async () => {
      await authority.setMode('yolo', { ...by, allowYolo: true, sessionId: 's' })
      return [call('2', 'write')]
    },
    async () => {
      await authority.setMode('plan', by)
      return [call('3', 'write')]
    },
    'Done.',
  )
  const agent = createAgent({ provider, authority, tools: { write } })
  await agent.run({ prompt: 'Go.' })
  const verdicts = records.filter(({ decision }) => decision).map(({ callId, decision }) => [callId, decision!.verdict])
  expect(verdicts.filter(([id], i) => verdicts.findIndex(([other]) => other === id) === i)).toEqual([
    ['1', 'deny'],
    ['2', 'allow'],
    ['3', 'deny'],
  ])
  expect(authority.mode).toBe('plan')
  expect(records.filter(({ event }) => event === 'ModeChanged')).toEqual([
    { class: 'Approval', event: 'ModeChanged', approver: 'ann', sessionId: 's', details: { from: 'plan', to: 'yolo' } },
    { class: 'Approval', event: 'ModeChanged', approver: 'ann', details: { from: 'yolo', to: 'plan' } },
  ])
  await agent.destroy()
})

test('yolo has to be named as such, and there is no other mode', async () => {
  const { authority, records } = recorded({ mode: 'ask' })
  await expect(authority.setMode('yolo', by)).rejects.toThrow('allowYolo')
  await expect(authority.setMode('wild' as never, by)).rejects.toThrow('plan, ask, allowlist, yolo')
  await authority.setMode('ask', by)
  expect(authority.mode).toBe('ask')
  expect(records).toEqual([])
})

test('a looser mode that cannot be recorded does not count; a stricter one counts at once', async () => {
  let isFull = true
  const audit = {
    async write() {
      if (isFull) throw new Error('the disk is full')
    },
  }
  const authority = createAuthority({ mode: 'ask', audit })
  await expect(authority.setMode('allowlist', by)).rejects.toThrow('full')
  expect(authority.mode).toBe('ask')
  const tightening = authority.setMode('plan', by)
  expect(authority.mode).toBe('plan')
  await expect(tightening).rejects.toThrow('full')
  expect(authority.mode).toBe('plan')
  isFull = false
  await authority.setMode('ask', by)
  expect(authority.mode).toBe('ask')
})

test('of several changes the last one counts', async () => {
  const written = Promise.withResolvers<void>()
  const authority = createAuthority({ mode: 'ask', audit: { write: () => written.promise } })
  const looser = authority.setMode('yolo', { ...by, allowYolo: true })
  const stricter = authority.setMode('plan', by)
  written.resolve()
  await Promise.all([looser, stricter])
  expect(authority.mode).toBe('plan')
})

test('authorities that were narrowed follow, and keep what makes them stricter', async () => {
  const { authority } = recorded({ mode: 'ask' })
  const narrowed = authority.narrow({ deny: ['mail'] })
  const planning = authority.narrow({ mode: 'plan' })
  const judged = async (one: typeof authority) => (await one.judge(writing)).verdict
  expect(await Promise.all([authority, narrowed, planning].map(judged))).toEqual(['ask', 'ask', 'deny'])
  await authority.setMode('yolo', { ...by, allowYolo: true })
  expect(await Promise.all([authority, narrowed, planning].map(judged))).toEqual(['allow', 'allow', 'deny'])
  await authority.setMode('plan', by)
  expect(await Promise.all([authority, narrowed, planning].map(judged))).toEqual(['deny', 'deny', 'deny'])
})

test('a run after the change to yolo says that its commands are not confined', async () => {
  const { authority } = recorded({ mode: 'ask' })
  const execution = createProcessContext({ sandbox: 'off' })
  const agent = createAgent({ provider: scripted('One.', 'Two.'), authority, execution })
  const said: unknown[] = []
  agent.log.subscribe((entry) => entry.type === 'run_started' && said.push(entry.unconfined))
  await agent.run({ prompt: 'one' })
  await authority.setMode('yolo', { ...by, allowYolo: true })
  await agent.run({ prompt: 'two' })
  expect(said).toEqual([undefined, expect.stringContaining('no sandbox')])
  await agent.destroy()
})

function recorded(options: AuthorityOptions) {
  const records: AuditRecord[] = []
  return {
    records,
    authority: createAuthority({ ...options, audit: { write: (record) => void records.push(record) } }),
  }
}
