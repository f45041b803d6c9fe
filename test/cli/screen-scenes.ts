import type { EntryBody } from '../../src/core/log.ts'
import type { AgentStats } from '../../src/core/usage.ts'
import type { AgentEvent, Provisional } from '../../src/events/events.ts'
import type { RunEnding } from '../../src/tui/one-shot/screen.ts'

/** An event, a wait in ms, or a point at which the test looks at the screen, pauses or resumes it. */
export type SceneStep = AgentEvent | number | 'look' | 'pause' | 'resume'

/** The events of runs, as a screen receives them. */
export const scenes: Readonly<Record<string, () => SceneStep[]>> = {
  typical: () => {
    const { hint, fact, text, turn } = createEvents()
    return [
      hint({ type: 'turn_started', turnId: 't1', step: 1 }),
      'look',
      hint({ type: 'thinking', turnId: 't1', attempt: 1, delta: 'The test fails, so I look at it first' }),
      60,
      'look',
      ...text('## The plan\n\nI run the **tests** and `mend` what is'),
      60,
      'look',
      ...text(' broken.\n\n- first this\n- then that\n'),
      hint({ type: 'tool_start', turnId: 't1', callId: 'c1', name: 'shell', displayName: 'shell' }),
      hint({ type: 'tool_args', turnId: 't1', callId: 'c1', delta: '{"command":"npm test"}' }),
      turn('t1', '## The plan\n\nI run the **tests** and `mend` what is broken.\n\n- first this\n- then that\n', {
        c1: ['shell', { command: 'npm test' }],
      }),
      fact({ type: 'call_started', callId: 'c1', key: 'k', attempt: 1, replay: 'opaque' }),
      hint({ type: 'tool_progress', turnId: 't1', callId: 'c1', text: 'ok 1\nok 2\nnot ok 3\n' }),
      1150,
      'look',
      fact({
        type: 'call_result',
        callId: 'c1',
        outcome: 'done',
        isError: true,
        output: 'not ok 3\nexpected 3, got 2\n[exit 1, 1.1 s]',
        details: { exitCode: 1 },
      }),
      turn('t2', '', {
        c2: ['edit', { path: '/desk/project/src/add.ts', old_string: 'a', new_string: 'b' }],
        c3: ['read_file', { path: '/desk/project/src/other.ts' }],
        c4: ['frobnicate', { level: 3, deep: { yes: true } }],
      }),
      60,
      'look',
      fact({
        type: 'call_result',
        callId: 'c2',
        outcome: 'done',
        output: 'Edited src/add.ts',
        details: { diff: '--- a/src/add.ts\n+++ b/src/add.ts\n@@ -1,2 +1,2 @@\n-return a - b\n+return a + b\n kept\n' },
      }),
      fact({ type: 'call_result', callId: 'c3', outcome: 'done', output: 'a\nb\nc' }),
      fact({ type: 'call_result', callId: 'c4', outcome: 'blocked', isError: true, output: 'You may not do that.' }),
      hint({ type: 'turn_started', turnId: 't3', step: 3 }),
      ...text(
        '| file | change |\n|---|---|\n| src/add.ts | mended |\n\nDone: see [the docs](https://docs.test/a).',
        't3',
      ),
      turn('t3', '| file | change |\n|---|---|\n| src/add.ts | mended |\n\nDone: see [the docs](https://docs.test/a).'),
      fact({ type: 'run_ended', runId: 'r', status: 'completed', stop: 'end_turn' }),
    ]
  },

  hostile: () => {
    const { hint, fact, text, turn } = createEvents()
    const bad = hostile.join('|')
    return [
      // Every sequence in one piece, then every one split in two.
      ...text(`model ${bad}\n\n`),
      ...hostile.flatMap((one) => [...text(one.slice(0, 1)), ...text(`${one.slice(1)} `)]),
      60,
      hint({ type: 'thinking', turnId: 't1', attempt: 1, delta: `thought ${bad}` }),
      60,
      ...text(
        `\n\nentity &#27;[2J and &#x9b;2J\n\n\`\`\`\ncode ${bad}\n\`\`\`\n\n[link ${bad}](https://a.test/${bad})`,
      ),
      hint({ type: 'stream_void', turnId: 't1', attempt: 1, reason: `reason ${bad}` }),
      hint({ type: 'tool_start', turnId: 't1', callId: 'c1', name: bad, displayName: `name ${bad}` }),
      60,
      turn('t1', '', { c1: [`name ${bad}`, { command: `arg ${bad}` }], c2: ['edit', { path: `file ${bad}` }] }),
      hint({ type: 'tool_progress', turnId: 't1', callId: 'c1', text: `progress ${bad}` }),
      60,
      { durable: false, type: 'child', child: { id: 'x', depth: 1 }, event: text(`child ${bad}`)[0] as never },
      60,
      fact({ type: 'call_result', callId: 'c1', outcome: 'error', isError: true, output: `error ${bad}` }),
      fact({
        type: 'call_result',
        callId: 'c2',
        outcome: 'done',
        output: 'ok',
        details: { diff: `@@ -1 +1 @@\n-old ${bad}\n+new ${bad}\n` },
      }),
      turn(
        't3',
        `| a |\n|---|\n| cell ${bad} |\n\n> quote ${bad}\n\n# head ${bad}\n\n<b>${bad}</b>\n\nSafe at the end.`,
      ),
    ]
  },

  retry: () => {
    const { hint, text, turn } = createEvents()
    return [
      hint({ type: 'turn_started', turnId: 't1', step: 1 }),
      ...text('First block.\n\nA tail that is'),
      60,
      'look',
      hint({ type: 'stream_void', turnId: 't1', attempt: 1, reason: 'overloaded' }),
      60,
      'look',
      ...text('It worked.'),
      turn('t1', 'It worked.'),
    ]
  },

  paused: () => {
    const { hint, fact, text, turn } = createEvents()
    return [
      turn('t1', '', { c1: ['shell', { command: 'rm x' }] }),
      fact({ type: 'approval_requested', callId: 'c1', digest: 'd' }),
      60,
      'look',
      'pause',
      ...text('Said meanwhile.\n\n', 't2'),
      hint({ type: 'tool_progress', turnId: 't1', callId: 'c1', text: 'secretly on' }),
      150,
      'look',
      'resume',
      60,
      'look',
    ]
  },

  long: () => {
    const { hint, text } = createEvents()
    const words = Array.from({ length: 150 }, (_, i) => `word${i}`).join(' ')
    const busy = hint({ type: 'turn_started', turnId: 't1', step: 1 })
    return [
      busy,
      ...text(words),
      60,
      'look',
      ...text(' one'),
      60,
      'look',
      ...text(' two'),
      60,
      'look',
      ...text(' end.'),
    ]
  },
}

/** What must never reach a terminal from others. */
export const hostile = [
  '\x1b[2J\x1b[1;1HApproved',
  '\x1b[8mhidden',
  '\x1b]52;c;ZXZpbA==\x07',
  '\x1b]8;;https://evil.test\x1b\\spoof\x1b]8;;\x1b\\',
  '\x1b]0;title\x07',
  '\x1bPq#0;2;0;0;0\x1b\\',
  '\x1b_apc\x1b\\',
  '\x9b2J',
  '\x9d0;title\x9c',
  '\x1b[?1049h',
  '\x1bc',
  'over\rwritten',
  '\b\b\b\x7f\x07',
]

const stats: AgentStats = {
  runId: 'r',
  status: 'completed',
  text: '',
  stopReason: 'end_turn',
  totalIn: 12_345,
  totalOut: 678,
  cost: 0.0123,
  turns: 3,
  turnUsage: [],
  children: [],
  elapsed: 4200,
}

export const ending: RunEnding = { stats, model: 'm', provider: 'p', sessionId: '1a2b3c4d5e6f7a8b' }

/** Numbers what is told. */
export function createEvents() {
  let [seq, n] = [0, 0]
  const hint = (event: Provisional): AgentEvent => ({ durable: false, after: seq, n: ++n, ...event })
  const fact = (body: EntryBody): AgentEvent => {
    seq++
    return { durable: true, seq, entry: { ...body, seq, id: `e${seq}`, at: seq } }
  }
  /** As a model streams: a few letters at a time. */
  const text = (all: string, turnId = 't1'): AgentEvent[] =>
    (all.match(/.{1,7}/gs) ?? []).map((delta) => hint({ type: 'text', turnId, attempt: 1, delta }))
  const turn = (
    id: string,
    said: string,
    calls: Readonly<Record<string, [string, Record<string, unknown>]>> = {},
  ): AgentEvent =>
    fact({
      type: 'turn',
      turn: {
        id,
        runId: 'r',
        role: 'assistant',
        createdAt: 0,
        content: [
          ...(said === '' ? [] : [{ type: 'text' as const, text: said }]),
          ...Object.entries(calls).map(([callId, [name, input]]) => ({
            type: 'tool_call' as const,
            id: callId,
            name,
            input,
          })),
        ],
      },
    })
  return { hint, fact, text, turn }
}
