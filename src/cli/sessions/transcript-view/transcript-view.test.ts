import { expect, test } from 'vitest'
import { createAgent } from '../../../create-agent.ts'
import { createRedactor } from '../../../platform/redact.ts'
import { importSession } from '../../../sessions/export.ts'
import { createMemoryStore } from '../../../sessions/memory-store.ts'
import { createSession } from '../../../sessions/session.ts'
import { call, scripted, tool } from '../../../testing/index.ts'
import { timeAgo } from '../../../tui/rows/format.ts'
import { exportLines } from '../export.ts'
import { transcriptMarkdown } from '../markdown/transcript-markdown.ts'
import { editDiff } from './edit-diff.ts'
import { totalsLine } from './totals.ts'
import { type CallPart, readTranscriptView, type TranscriptView } from './transcript-view.ts'

/** In pieces, so that no scanner takes it for a real one. */
const secret = ['sk', 'made', 'up', '1234567890abcdef'].join('-')

const callsIn = ({ parts }: TranscriptView): CallPart[] => parts.filter((part) => part.type === 'call')

test('SV14 a transcript has the messages, the calls with their results, and the cost', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const tools = { look: tool('look', () => 'a pear'), fail: tool('fail', () => Promise.reject(new Error('broken'))) }
  const provider = scripted([call('1', 'look', { path: 'a' }), call('2', 'fail')], 'A pear.')
  await createAgent({ provider, session, tools }).run({ prompt: 'What is there?' })
  const transcript = await readTranscriptView(store, 's')
  expect(transcript.parts.map((part) => (part.type === 'call' ? part.name : part.type))).toEqual([
    'said',
    'look',
    'fail',
    'said',
  ])
  expect(callsIn(transcript)).toMatchObject([
    { input: { path: 'a' }, output: 'a pear', outcome: 'done' },
    { output: expect.stringContaining('broken'), isError: true },
  ])
  expect(transcript).toMatchObject({ title: 'What is there?', turns: 3, status: 'idle', models: ['script-1'] })
  expect(transcript.totals.input).toBeGreaterThan(0)
})

test('rewound turns are not shown, but their cost counts', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const agent = createAgent({ provider: scripted('One.', 'Two.'), session })
  await agent.run({ prompt: 'First' })
  const here = session.log.head
  const before = (await readTranscriptView(store, 's')).totals.output
  await agent.run({ prompt: 'Second' })
  await session.rewind(here)
  const { parts, totals } = await readTranscriptView(store, 's')
  expect(JSON.stringify(parts)).not.toContain('Second')
  expect(parts.at(-1)).toMatchObject({ type: 'note', text: expect.stringContaining(`entry ${here}`) })
  expect(totals.output).toBeGreaterThan(before)
})

test('a call shows who allowed it, their note, and the children it started', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const gate = {
    'tool:gate': (ctx: { approval?: { decision: string }; halt?: { reason: string } }) => {
      if (!ctx.approval) ctx.halt = { reason: 'approval needed' }
    },
  }
  const agent = createAgent({
    provider: scripted([call('1', 'dig')], 'Done.'),
    session,
    tools: { dig: tool('dig', () => 'a hole') },
    hooks: gate,
  })
  await agent.run({ prompt: 'Dig.' })
  const waiting = await readTranscriptView(store, 's')
  expect(waiting.status).toBe('waiting')
  expect(callsIn(waiting)[0]!.approvals).toEqual([{ decision: 'asked' }])

  await session.answer('1', { decision: 'allow', by: 'ann', content: 'not too deep' })
  await session.open()
  await (await session.child('1')).addTurns([{ role: 'user', content: [{ type: 'text', text: 'Dig for me.' }] }])
  await session.release()
  await agent.run()
  const transcript = await readTranscriptView(store, 's')
  expect(callsIn(transcript)[0]).toMatchObject({
    output: 'a hole',
    approvals: [{ decision: 'allow', by: 'ann', note: 'not too deep' }],
  })
  expect(transcript.children).toMatchObject([{ id: 's/1', callId: '1', title: 'Dig for me.' }])
})

test('SE-03 a secret found in one place is removed everywhere, in every format', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const hidden = 'correct-horse-42'
  const tools = {
    env: tool('env', () => `DB_PASSWORD="${hidden}"`),
    put: tool('put', () => `sent ${hidden} ${secret}`),
  }
  const provider = scripted([call('1', 'env')], [call('2', 'put', { header: `x ${hidden}` })], `It is ${hidden}.`)
  await createAgent({ provider, session, tools }).run({ prompt: `My key is ${secret}` })
  const bare = createRedactor({ env: {} })
  const texts = [
    await textOf(exportLines(store, 's', bare)),
    await transcriptMarkdown(await readTranscriptView(store, 's', createRedactor())),
    JSON.stringify(await readTranscriptView(store, 's', createRedactor())),
  ]
  for (const text of texts) {
    for (const one of [secret, hidden])
      for (const spelling of [one, Buffer.from(one).toString('base64').slice(0, 12), Buffer.from(one).toString('hex')])
        expect(text).not.toContain(spelling)
    expect(text).toContain('[REDACTED:')
  }
  expect(await textOf(exportLines(store, 's'))).toContain(hidden)
})

test('SE-03 blobs of entries are redacted too, and are imported under their new name', async () => {
  const [store, there] = [createMemoryStore(), createMemoryStore()]
  const session = await createSession({ store, id: 's' })
  await session.open()
  const blob = await store.blobs('s').put(new TextEncoder().encode(`the key is ${secret}`))
  await session.log.append({ type: 'state', owner: 'results', value: { blob } })
  await session.release()
  await importSession(there, exportLines(store, 's', createRedactor()))
  const [entry] = await there.read('s')
  const name = (entry as { value?: { blob?: string } }).value?.blob ?? ''
  expect(new TextDecoder().decode(await there.blobs('s').get(name))).toBe('the key is [REDACTED:1]')
})

test('the Markdown has foldable calls, and no text in them ends their fences', async () => {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 's' })
  const tools = { show: tool('show', () => '```\n</details>\n<img src=x>\n````') }
  const provider = scripted([call('1', 'show', { path: '</summary><b>' })], 'Look: ![x](https://x.test/?d=1)')
  await createAgent({ provider, session, tools }).run({ prompt: 'Show <b>me</b>' })
  const text = await transcriptMarkdown(await readTranscriptView(store, 's'))
  expect(text).toContain('<summary><strong>show</strong> &lt;/summary&gt;&lt;b&gt;</summary>')
  expect(text).toContain('`````\n```\n</details>\n<img src=x>\n````\n`````')
  expect(text).toContain('> Show &lt;b>me&lt;/b>')
  expect(text).toContain('Look: &#33;[x](https://x.test/?d=1)')
})

test('an edit is shown as a diff', async () => {
  expect(await editDiff({ path: 'a', old_string: 'a\nb\n', new_string: 'a\nc\n' })).toEqual([' a', '-b', '+c'])
  const edits = [
    { old_string: 'x', new_string: 'y' },
    { old_string: '', new_string: 'z' },
  ]
  expect(await editDiff({ path: 'a', edits })).toEqual(['-x', '+y', '@@', '+z'])
  expect(await editDiff({ command: 'ls' })).toBeUndefined()
  expect(await editDiff({ edits: [] })).toBeUndefined()
  expect(await editDiff({ old_string: 'a'.repeat(30_000), new_string: 'b' })).toHaveLength(2)
})

test('times and costs are formatted for people', () => {
  const now = Date.UTC(2026, 0, 31)
  const day = 86_400_000
  const times = [0, 90_000, 3 * 3_600_000, 2 * day, 30 * day].map((past) => timeAgo(now - past, now))
  expect(times).toEqual(['just now', '1 min ago', '3 h ago', '2 d ago', '2026-01-01'])
  expect(totalsLine({ input: 12_400, output: 310, cost: 0.03117 })).toBe('12,400 tokens in, 310 out, $0.0312')
  expect(totalsLine({ input: 0, output: 0 })).toBeUndefined()
})

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = ''
  for await (const piece of pieces) text += piece
  return text
}
