import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { elementsIn, strangersIn } from '../../../../test/cli/page-elements.ts'
import type { EntryBody, LogEntry } from '../../../core/log.ts'
import type { SessionContentBlock } from '../../../core/turn.ts'
import { applyEntries, emptySummary, summaryOf } from '../../../sessions/stored-summary.ts'
import { buildTranscriptView, type ChildTranscriptView } from '../transcript-view/transcript-view.ts'
import { markdownRenderer } from './markdown-renderer.ts'
import { transcriptPage } from './transcript-page.ts'

const hostile = '<img src=x onerror=alert(1)>"\'`&</pre></details></main><script>alert(1)</script>'

const entries = (...bodies: EntryBody[]): LogEntry[] =>
  bodies.map((body, i) => ({ seq: i + 1, id: `e${i}`, at: 1000 * i, ...body }))

function turn(role: 'user' | 'assistant', ...content: SessionContentBlock[]): EntryBody {
  return {
    type: 'turn',
    turn: { id: `t-${role}`, runId: 'r', role, content, createdAt: 0, ...(role === 'assistant' && { model: hostile }) },
  }
}

const text = (words: string): SessionContentBlock => ({ type: 'text', text: words })
const call = (id: string, name: string, input: Record<string, unknown>): SessionContentBlock => ({
  type: 'tool_call',
  id,
  name,
  input,
})

/** Hostile text wherever foreign text can appear. */
function worst(): LogEntry[] {
  return entries(
    { type: 'state', owner: 'cli', value: { cwd: hostile } },
    { type: 'state', owner: 'fork', value: { session: hostile, seq: 1 } },
    turn(
      'user',
      text(hostile),
      { type: 'image', mediaType: 'image/svg+xml', data: 'PHN2Zz4=' },
      { type: 'image', mediaType: 'image/png', data: `x" onerror="alert(1)` },
      { type: 'image', mediaType: `image/png" onerror="alert(1)`, data: 'AAAA' },
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'document', mediaType: hostile, data: '', name: hostile },
    ),
    turn(
      'assistant',
      { type: 'thinking', text: hostile },
      text(hostile),
      call('1', hostile, { path: hostile }),
      call('2', 'edit', { path: hostile, old_string: hostile, new_string: `x${hostile}` }),
      call('3', 'shell', { command: hostile }),
    ),
    { type: 'approval_requested', callId: '1', digest: 'd' },
    {
      type: 'approval_answered',
      callId: '1',
      digest: 'd',
      decision: 'deny',
      by: hostile,
      note: [{ type: 'text', text: hostile }],
    },
    { type: 'approval_requested', callId: '3', digest: 'd' },
    { type: 'call_result', callId: '1', output: hostile, isError: true, outcome: 'blocked' },
    {
      type: 'call_result',
      callId: '2',
      output: `--- a\n+++ b\n@@ -1 +1 @@\n-${hostile}\n+${hostile}`,
      outcome: 'done',
    },
    { type: 'compaction', toSeq: 1, summary: [{ type: 'text', text: hostile }] },
    { type: 'label', text: hostile },
    { type: 'run_started', runId: 'r', model: hostile },
    { type: 'run_ended', runId: 'r', status: 'error', stop: 'error', error: { name: 'Error', message: hostile } },
  )
}

const record = applyEntries(emptySummary, [{ seq: 1, id: 'e', at: 0, type: 'label', text: 'x' }], 0)
const info = { ...summaryOf(record, { id: hostile, isHeld: false, mail: 'none' }), updatedAt: 1000 }

test('UI-05 UI-10 foreign text never becomes an element, wherever it appears', async () => {
  const child: ChildTranscriptView = { ...buildTranscriptView(info, worst()), callId: '2' }
  const lost: ChildTranscriptView = buildTranscriptView(info, worst())
  const page = await transcriptPage(buildTranscriptView(info, worst(), [child, lost]), { isRedacted: true })
  expect(strangersIn(page)).toEqual([])
  expect(elementsIn(page).filter(({ name }) => name === 'img')).toHaveLength(3) // the one PNG of each of the three
  expect(page.match(/&lt;script&gt;/g)!.length).toBeGreaterThan(30)
})

test('UI-03 UI-05 UI-07 the policy of the page forbids scripts and external resources', async () => {
  const page = await transcriptPage(buildTranscriptView(info, worst()), { isRedacted: true })
  const style = /<style>([\s\S]*?)<\/style>/.exec(page)![1]!
  const digest = createHash('sha256').update(style).digest('base64')
  const policy = `default-src 'none'; style-src 'sha256-${digest}'; img-src data:; base-uri 'none'; form-action 'none'`
  expect(page).toContain(`<meta http-equiv="Content-Security-Policy" content="${policy}">`)
  expect(page.indexOf('Content-Security-Policy')).toBeLessThan(page.indexOf('<style>'))
  expect(style).not.toMatch(/url\(|@import|@font-face/)
  expect(page).toContain('<meta name="referrer" content="no-referrer">')
})

test('UI-01 control characters are visible, and so are bidi controls in calls', async () => {
  const page = await transcriptPage(
    buildTranscriptView(
      info,
      entries(turn('user', text('a\x1b[2Jb')), turn('assistant', call('1', 'shell', { command: 'rm \u202eexe.txt' }))),
    ),
    { isRedacted: true },
  )
  expect(page).toContain('a␛[2Jb')
  expect(page).toContain('rm \\u202eexe.txt')
  expect(page.includes('\x1b') || page.includes('\u202e')).toBe(false)
})

test('UI-09 text that hangs the parser, or has a million parts, is shown as it was written', async () => {
  const thread = markdownRenderer({ budgetMs: 1500 })
  try {
    expect(await thread.render('**fine**')).toBe('<p><strong>fine</strong></p>\n')
    const trap = `${'**'.repeat(30_000)}<b>`
    expect(await thread.render(trap)).toBe(`<pre class="prose">${'**'.repeat(30_000)}&lt;b&gt;</pre>\n`)
    expect(await thread.render('>'.repeat(20_000))).toMatch(/^<pre class="prose">&gt;/)
    expect(await thread.render('- a\n'.repeat(1_000_000))).toMatch(/^<pre class="prose">- a/)
    expect(await thread.render('**still fine**')).toBe('<p><strong>still fine</strong></p>\n')
  } finally {
    await thread.close()
  }
}, 30_000)
