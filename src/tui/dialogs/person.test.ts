import { describe, expect, test } from 'vitest'
import {
  type HandKeyboard,
  handKeyboard,
  type RecordingTerminal,
  recordingTerminal,
} from '../../../test/cli/person-kit.ts'
import { type ApprovePayload, approvePayload, batchPayload } from '../../authority/interaction/consent.ts'
import { createInteractions, type InteractionOutcome } from '../../authority/interaction/interactions.ts'
import type { JudgedCall } from '../../authority/judged-call.ts'
import type { InteractionRequest } from '../../core/interaction.ts'
import { type FakeClock, fakeClock } from '../../testing/fake-clock.ts'
import { createPerson, type PersonOptions } from './person.ts'

interface Desk {
  readonly terminal: RecordingTerminal
  readonly keyboard: HandKeyboard
  readonly clock: FakeClock
  /** What happened besides the dialogs, in order. */
  readonly told: string[]
  /** Asks a question, and waits until keys are accepted, unless `isEarly`. */
  ask(
    payload: Record<string, unknown>,
    options?: { timeoutMs?: number; signal?: AbortSignal; isEarly?: true },
  ): Promise<Asked>
}

/** A pending outcome, wrapped so that it is not awaited. */
interface Asked {
  readonly outcome: Promise<InteractionOutcome>
}

interface DeskOptions extends Pick<PersonOptions, 'isTyping' | 'editText'> {
  readonly columns?: number
  readonly rows?: number
  readonly isInteractive?: boolean
}

function desk({ isTyping, editText, ...size }: DeskOptions = {}): Desk {
  const terminal = recordingTerminal(size)
  const keyboard = handKeyboard()
  const clock = fakeClock(1_000_000)
  const told: string[] = []
  let n = 0
  const interactions = createInteractions({ clock, newId: () => `q${++n}` })
  interactions.attach(
    createPerson({
      terminal,
      keyboard,
      clock,
      screen: { pause: () => told.push('pause'), resume: () => told.push('resume') },
      onInterrupt: () => told.push('interrupt'),
      ...(isTyping && { isTyping }),
      ...(editText && { editText }),
    }),
  )
  return {
    terminal,
    keyboard,
    clock,
    told,
    async ask(payload, { signal = new AbortController().signal, isEarly = false, ...more } = {}) {
      const request = { kind: String(payload.kind), payload } satisfies InteractionRequest
      const outcome = interactions.interact(request, { signal, ...more })
      outcome.catch(() => {})
      await (isEarly ? clock.advance(0) : awake(clock))
      return { outcome }
    },
  }
}

const nextLoop = () => new Promise((resolve) => setImmediate(resolve))

/** Past the time in which keys are ignored. */
async function awake(clock: FakeClock): Promise<void> {
  await clock.advance(300)
  await nextLoop()
}

function call(input: Record<string, unknown>, more: Partial<JudgedCall> = {}): JudgedCall {
  return {
    tool: 'deploy',
    origin: { layer: 'bundled' },
    gated: true,
    input,
    key: 'production',
    effects: [{ effect: 'net', target: 'example.test' }],
    digest: 'D',
    ...more,
  }
}

function asked(
  input: Record<string, unknown> = { to: 'production' },
  choices?: readonly unknown[],
  callId = 'c1',
): ApprovePayload {
  const payload = approvePayload(call(input), {
    decision: { verdict: 'ask', by: 'mode-gate', why: 'nothing allows it' },
    cwd: '/desk/app',
    callId,
  })
  return choices ? { ...payload, choices: choices as ApprovePayload['choices'] } : payload
}

const accepted = (value: unknown) => expect.objectContaining({ status: 'accepted', value, by: 'user' })
const rejected = (reason: string) => expect.objectContaining({ status: 'rejected', reason, by: 'user' })

describe('an approval', () => {
  test('prints why it is asked, where the call runs, what it touches and every argument', async () => {
    const { terminal, keyboard, ask, told } = desk()
    const { outcome } = await ask(asked({ to: 'production', force: true }))
    expect(terminal.lines.join('\n')).toContain(`? Allow deploy?
│ tool: deploy (bundled)
│ asked because: nothing allows it
│ runs in: /desk/app
│ does: net example.test
│ arguments (14 characters, all shown):
│   to: production
│   force: true`)
    expect(told).toEqual(['pause'])
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once' }))
    expect(terminal.lines.at(-1)).toBe('✓ allowed once: deploy production')
    expect([told, terminal.shown, keyboard.isRead]).toEqual([['pause', 'resume'], [], false])
  })

  test('T05 shows the diff of an edit instead of its arguments, cut to the screen, with a note of how much is missing', async () => {
    const { terminal, keyboard, ask } = desk()
    const lines = Array.from({ length: 50 }, (_, i) => `+line ${i}`)
    const diff = ['@@ -1,2 +1,51 @@', ' kept', '-gone\x1b[2J', ...lines].join('\n')
    const file = { path: 'src/a.ts', change: 'edit', added: 50, removed: 1, diff, moreLines: 7 } as const
    const payload = approvePayload(call({ path: 'src/a.ts', old_string: 'OLD', new_string: 'NEW' }), {
      ...{ decision: { verdict: 'ask', by: 'mode-gate', why: 'nothing allows it' }, cwd: '/desk/app', callId: 'c1' },
      preview: { files: [file] },
    })
    const { outcome } = await ask(payload)
    const shown = terminal.lines.join('\n')
    expect(shown).toContain('│ edits src/a.ts: +50 −1\n│ @@ -1,2 +1,51 @@\n│  kept\n│ -gone␛[2J\n│ +line 0\n')
    expect(shown).not.toMatch(/OLD|NEW|arguments/)
    const seen = shown.match(/^│ \+line /gm)!.length
    expect(shown).toContain(`\n│ … ${50 - seen + 7} more lines of this diff are not shown`)
    expect(seen).toBeLessThan(terminal.rows)
    keyboard.press('n')
    await outcome
  })

  test('T05 shows the beginning of old and new lines that are longer than the screen', async () => {
    const { terminal, keyboard, ask } = desk()
    const diff = ['@@ -1,1 +1,1 @@', `-old${'a'.repeat(5000)}`, `+new${'b'.repeat(5000)}`].join('\n')
    const payload = approvePayload(call({ path: 'min.js' }), {
      ...{ decision: { verdict: 'ask', by: 'mode-gate', why: 'nothing allows it' }, cwd: '/desk/app', callId: 'c1' },
      preview: { files: [{ path: 'min.js', change: 'replace', added: 1, removed: 1, diff }] },
    })
    const { outcome } = await ask(payload)
    expect(terminal.lines.join('\n')).toMatch(
      /\n│ -olda+\n(┆ a+\n)+│ … this line goes on\n│ \+newb+\n(┆ b+\n)+│ … this line goes on$/,
    )
    keyboard.press('n')
    await outcome
  })

  test.each([
    [['y'], accepted({ scope: 'once' }), '✓ allowed once: deploy production'],
    [['Y'], accepted({ scope: 'once' }), '✓ allowed once: deploy production'],
    [
      ['s'],
      accepted({ scope: 'session' }),
      '✓ allowed in this session: every call of deploy for `production` in this project',
    ],
    [['p'], accepted({ scope: 'project' }), '✓ allowed always: every call of deploy for `production` in this project'],
    [['n'], rejected(''), '✗ not allowed: deploy production'],
    [['q'], rejected(''), '✗ not allowed: deploy production'],
    [['escape'], rejected(''), '✗ not allowed: deploy production'],
    [['enter'], rejected(''), '✗ not allowed: deploy production'],
    [['x', 'yes', 'tab', 'enter', 'no', 'enter'], rejected('no'), '✗ not allowed (no): deploy production'],
    [
      ['up', 'enter'],
      accepted({ scope: 'project' }),
      '✓ allowed always: every call of deploy for `production` in this project',
    ],
    [['down', 'down', 'down', 'enter'], accepted({ scope: 'once' }), '✓ allowed once: deploy production'],
    [
      ['r', 'use ', 'stagink', 'backspace', 'g', 'enter'],
      rejected('use staging'),
      '✗ not allowed (use staging): deploy production',
    ],
    [['r', 'half', 'escape', 'y'], accepted({ scope: 'once' }), '✓ allowed once: deploy production'],
  ])('the keys %j are an answer', async (keys, expected, line) => {
    const { terminal, keyboard, ask } = desk({ columns: 100 })
    const { outcome } = await ask(asked())
    for (const key of keys) {
      keyboard.press(key)
      await nextLoop()
    }
    expect(await outcome).toEqual(expected)
    expect(terminal.lines.at(-1)).toBe(line)
  })

  const keysOf = (shown: readonly string[]): string[] => shown.flatMap((line) => /^[▸ ] (\w) {2}/.exec(line)?.[1] ?? [])

  test('T03 offers only the choices of the question, and says what each of them covers', async () => {
    const { terminal, keyboard, ask, clock } = desk()
    const { outcome: once } = await ask(asked(undefined, [{ scope: 'once', words: 'once' }, { scope: 'ever' }, 7]))
    expect(keysOf(terminal.shown)).toEqual(['y', 'n', 'r', 'w'])
    keyboard.press('s', 'p', 'o')
    await clock.advance(0)
    expect(keyboard.isRead).toBe(true)
    keyboard.press('n')
    await once
    const { outcome } = await ask(asked(undefined, placed))
    expect(keysOf(terminal.shown)).toEqual(['y', 'o', 's', 'p', 'n', 'r', 'w'])
    expect(terminal.shown).toContain('  p  yes, always: every `touch` in this project, inside the sandbox')
    keyboard.press('p')
    expect(await outcome).toEqual(accepted({ scope: 'project', where: 'inside' }))
  })

  const placed = [
    { scope: 'once', where: 'inside', words: 'once, inside the sandbox' },
    { scope: 'once', where: 'outside', words: 'once, outside the sandbox' },
    { scope: 'session', where: 'inside', words: 'in this session: every `touch` in this project, inside the sandbox' },
    { scope: 'project', where: 'inside', words: 'always: every `touch` in this project, inside the sandbox' },
  ]

  const changeable = placed.map((one) =>
    one.scope === 'project'
      ? {
          ...one,
          rule: {
            ...{ rule: 'shell:git commit *', tool: 'shell', about: 'commands' },
            ...{ examples: [['git', 'commit', '-m', 'x']], place: 'inside the sandbox' },
          },
        }
      : one,
  )

  test('UI108 the rule for always is shown, changed, refused with the right form, and told in words before it counts', async () => {
    const { terminal, keyboard, ask, clock } = desk({ rows: 40, columns: 120 })
    const { outcome } = await ask(asked(undefined, changeable))
    expect(keysOf(terminal.shown)).toEqual(['y', 'o', 's', 'p', 'c', 'n', 'r', 'w'])
    expect(terminal.shown).toContain('  c  change what is always allowed: shell:git commit *')
    keyboard.press('c')
    await loaded(() => terminal.shown[0]?.startsWith('Always allow: shell:git commit *') === true)
    keyboard.press('ctrl-u', 'Bash(git commit:*)', 'enter')
    await clock.advance(0)
    expect(terminal.lines.join('\n')).toContain('has the form of another program; write "shell:git commit"')
    expect(terminal.shown[0]).toBe('Always allow: Bash(git commit:*)')
    keyboard.press('ctrl-u', 'shell:git commit -m *', 'enter')
    await clock.advance(0)
    expect(terminal.shown).toEqual(
      expect.arrayContaining([
        '  p  yes, always: every `git commit -m *` in this project (and any further words), inside the sandbox',
        '▸ n  back',
      ]),
    )
    keyboard.press('p')
    expect(await outcome).toEqual(accepted({ scope: 'project', rule: 'shell:git commit -m *' }))
    expect(terminal.lines.at(-1)).toBe(
      '✓ allowed always: every `git commit -m *` in this project (and any further words), inside the sandbox',
    )
  })

  test('UI108 going back from a changed rule allows nothing', async () => {
    const { terminal, keyboard, ask, clock } = desk({ rows: 40 })
    const { outcome } = await ask(asked(undefined, changeable))
    keyboard.press('c')
    await loaded(() => terminal.shown[0]?.startsWith('Always allow') === true)
    keyboard.press('enter')
    await clock.advance(0)
    keyboard.press('enter') // the selected choice is to go back
    await clock.advance(0)
    expect(keysOf(terminal.shown)).toContain('y')
    keyboard.press('n')
    expect(await outcome).toEqual(rejected(''))
  })

  /** The code that reads rules is loaded when it is needed. */
  async function loaded(isThere: () => boolean): Promise<void> {
    for (let turn = 0; turn < 500 && !isThere(); turn++) await new Promise((resolve) => setTimeout(resolve, 5))
    expect(isThere()).toBe(true)
  }

  test.each([
    ['y', { scope: 'once', where: 'inside' }, '✓ allowed once, inside the sandbox: deploy production'],
    ['o', { scope: 'once', where: 'outside' }, '✓ allowed once, outside the sandbox: deploy production'],
    ['s', { scope: 'session', where: 'inside' }, `✓ allowed ${placed[2]!.words}`],
  ])('T03 the key %s answers where the call runs', async (key, value, line) => {
    const { terminal, keyboard, ask } = desk()
    const { outcome } = await ask(asked(undefined, placed))
    keyboard.press(key)
    expect(await outcome).toEqual(accepted(value))
    expect(terminal.lines.at(-1)).toBe(line)
  })

  test('T03 where only outside is offered, that is the plain yes', async () => {
    const { terminal, keyboard, ask } = desk()
    const { outcome } = await ask(asked(undefined, placed.slice(1, 2)))
    expect(keysOf(terminal.shown)).toEqual(['y', 'n', 'r', 'w'])
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once', where: 'outside' }))
  })

  test('T03 on a narrow screen the words of a choice are wrapped, not cut', async () => {
    const { terminal, keyboard, ask } = desk({ columns: 30 })
    const { outcome } = await ask(asked(undefined, placed))
    const shown = terminal.shown.join('').replaceAll(/ +/g, ' ')
    for (const { words } of placed) expect(shown).toContain(words)
    expect(terminal.shown.slice(0, -1).every((line) => line.length < 30)).toBe(true)
    keyboard.press('n')
    await outcome
  })

  test('on a screen of five rows the selected choice is always in sight, and which of how many it is', async () => {
    const { terminal, keyboard, ask } = desk({ columns: 20, rows: 5 })
    const { outcome } = await ask(asked(undefined, placed))
    const count = 4 + 3
    for (let i = 0; i < count; i++) {
      keyboard.press('down')
      expect(terminal.shown.filter((line) => line.startsWith('▸'))).toHaveLength(1)
      expect(terminal.shown.length).toBeLessThanOrEqual(count)
      expect(terminal.shown.at(-1)).toMatch(/\d of \d; Esc/)
    }
    keyboard.press('n')
    await outcome
  })

  test('UI63 explains in place why it is asked and what would change it, and goes on asking', async () => {
    const { terminal, keyboard, ask } = desk()
    const { outcome } = await ask(asked())
    const printed = terminal.lines.length
    keyboard.press('w')
    await nextLoop()
    expect(terminal.shown.join('\n')).toContain(
      '│ asked because nothing allows it\n│ to change it: s or p here, for calls like this one',
    )
    expect(terminal.lines).toHaveLength(printed)
    keyboard.press('w')
    await nextLoop()
    expect(terminal.shown.join('\n')).not.toContain('to change it')
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once' }))
  })

  test.each([
    ['ask-rule', 'change or remove the rule'],
    ['floor', 'asked about each time'],
    ['sandbox', 'libero doctor'],
    ['something new', 'libero policy explain'],
  ])('UI63 what would change it depends on what decided: %s', async (by, advice) => {
    const { terminal, keyboard, ask } = desk()
    const payload = asked()
    const because = { by, why: 'x\x1b[2J', rule: 'shell:\u202erm' }
    const { outcome } = await ask({ ...payload, consent: { ...payload.consent, asked: because } })
    keyboard.press('w')
    await nextLoop()
    const shown = terminal.shown.join('\n')
    expect(shown).toContain(advice)
    expect(shown).toContain('│ asked because x␛[2J\n│ the rule: shell:\\u202erm')
    keyboard.press('escape')
    expect(await outcome).toEqual(rejected(''))
  })

  test('is not answered by keys typed before it opened, nor by a paste', async () => {
    const { keyboard, ask, clock, terminal } = desk()
    const { outcome } = await ask(asked(), { isEarly: true })
    expect(keyboard.isRead).toBe(true)
    keyboard.press('y', 'enter', 'escape')
    await clock.advance(999)
    await nextLoop()
    keyboard.press('y')
    expect(keyboard.isRead).toBe(true)
    expect(terminal.shown.at(-1)).toContain('keys are ignored until')
    await clock.advance(1000)
    await nextLoop()
    keyboard.paste('y')
    keyboard.press('yes', 'y\n')
    expect(terminal.shown.join('\n')).toContain('▸ n  no')
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once' }))
  })

  test('is not answered by letters of a sentence that the person is typing', async () => {
    let isTyping = false
    const { keyboard, ask, clock } = desk({ isTyping: () => isTyping })
    const fast = await ask(asked(), { isEarly: true })
    for (const letter of 'always say yes') {
      await clock.advance(200)
      await nextLoop()
      keyboard.press(letter)
    }
    isTyping = true
    await clock.advance(1000)
    await nextLoop()
    keyboard.press('n')
    expect(await fast.outcome).toEqual(rejected(''))
    const slow = await ask(asked(), { isEarly: true })
    await clock.advance(600)
    await nextLoop()
    keyboard.press('a')
    await clock.advance(1000)
    await nextLoop()
    keyboard.press('n')
    expect(await slow.outcome).toEqual(rejected(''))
  })

  test('PI-07 UI-01 any argument stays behind the margin, visible and complete', async () => {
    const { terminal, keyboard, ask } = desk({ columns: 30, rows: 10 })
    const hostile = `echo \x1b[2J\x1b[1;1HApproved\u202e\x9b8m ${' '.repeat(60)}│ note: safe ${'x'.repeat(5000)}END`
    const { outcome } = await ask(asked({ command: hostile }))
    const rows = terminal.lines.slice(2)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the test is about them
    expect(terminal.lines.join('')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202e]/)
    expect(rows.every((row) => /^[│┆] /.test(row) && row.length < 30)).toBe(true)
    const whole = rows.map((row) => (row.startsWith('│') ? `\n${row.slice(2)}` : row.slice(2))).join('')
    expect(whole).toContain(
      `  command: echo ␛[2J␛[1;1HApproved\\u202e\\x9b8m ${' '.repeat(60)}│ note: safe ${'x'.repeat(5000)}END\n`,
    )
    expect(terminal.shown.join('\n')).toContain('lines above: scroll up')
    keyboard.press('n')
    await outcome
    expect(terminal.lines.at(-1)!.length).toBeLessThan(30)
  })

  test('SE-06 masks only the secret, as the approval text does', async () => {
    const { terminal, keyboard, ask } = desk()
    const payload = asked()
    const lines = [...payload.consent.lines, '  command: TOKEN=[REDACTED:1] && curl example.test']
    const { outcome } = await ask({ ...payload, consent: { ...payload.consent, lines } })
    expect(terminal.lines).toContain('│   command: TOKEN=[REDACTED:1] && curl example.test')
    keyboard.press('n')
    await outcome
  })

  test('Ctrl-C interrupts the turn at any time', async () => {
    const { terminal, keyboard, ask, told } = desk()
    const { outcome } = await ask(asked())
    keyboard.press('r')
    await nextLoop()
    keyboard.press('because', 'ctrl-c')
    await expect(outcome).rejects.toMatchObject({ code: 'TurnCancelled' })
    expect([terminal.lines.at(-1), keyboard.isRead]).toEqual(['– interrupted', false])
    expect(told).toEqual(['pause', 'interrupt', 'resume'])
  })

  test('Ctrl-C works while other keys are still ignored', async () => {
    const { keyboard, ask } = desk()
    const { outcome } = await ask(asked(), { isEarly: true })
    keyboard.press('ctrl-c')
    await expect(outcome).rejects.toMatchObject({ code: 'TurnCancelled' })
  })

  test('counts down the last half minute and reports that the time is over', async () => {
    const { terminal, ask, clock, keyboard, told } = desk()
    const { outcome } = await ask(asked(), { timeoutMs: 60_000 })
    await clock.advance(29_000)
    expect(terminal.shown.join('\n')).not.toContain('left to answer')
    await clock.advance(11_000)
    expect(terminal.shown.join('\n')).toContain('20 s left to answer')
    await clock.advance(20_000)
    expect((await outcome).status).toBe('timeout')
    expect(terminal.lines.at(-1)).toBe('– closed: the time to answer is over, which counts as no')
    expect([keyboard.isRead, clock.pending, told]).toEqual([false, 0, ['pause', 'resume']])
  })

  test('a withdrawn approval closes, restores the screen and lets the next one open', async () => {
    const { terminal, ask, keyboard, clock, told } = desk()
    const stop = new AbortController()
    await ask(asked({ to: 'first' }), { signal: stop.signal })
    const { outcome } = await ask(asked({ to: 'second' }))
    expect(terminal.lines.join('\n')).not.toContain('second')
    stop.abort()
    await awake(clock)
    expect(terminal.lines.join('\n')).toMatch(/– closed: it was answered elsewhere.*to: second/s)
    expect(told).toEqual(['pause', 'resume', 'pause'])
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once' }))
  })

  test('shows each of several calls, and takes one answer for all or one for each', async () => {
    const once = [{ scope: 'once', words: 'once' }]
    const { terminal, ask, keyboard, clock } = desk()
    const batch = batchPayload([asked({ to: 'one' }, once, 'c1'), asked({ to: 'two' }, once, 'c2')])
    const { outcome: all } = await ask(batch)
    expect(terminal.lines.filter((line) => line.startsWith('?'))).toEqual([
      '? 1 of 2. Allow deploy?',
      '? 2 of 2. Allow deploy?',
    ])
    keyboard.press('y')
    expect(await all).toEqual(accepted({ scope: 'once' }))
    expect(terminal.lines.at(-1)).toBe('✓ allowed once: deploy one, deploy two')
    const { outcome: each } = await ask(batch)
    keyboard.press('e')
    await awake(clock)
    keyboard.press('y')
    await awake(clock)
    keyboard.press('enter')
    expect(await each).toEqual(accepted({ calls: { c1: 'allow', c2: 'deny' } }))
    expect(terminal.lines.slice(-2)).toEqual(['✓ allowed once: deploy one', '✗ not allowed: deploy two'])
  })

  test('UI65 allows several calls except those that the person marks in one list', async () => {
    const once = [{ scope: 'once', words: 'once' }]
    const { terminal, ask, keyboard, clock } = desk()
    const batch = batchPayload(['one', 'two', 'three'].map((to, i) => asked({ to }, once, `c${i + 1}`)))
    const { outcome } = await ask(batch)
    keyboard.press('x')
    await awake(clock)
    expect(terminal.shown).toEqual([
      'Mark the calls that are not allowed:',
      '▸ [ ] 1. deploy one',
      '  [ ] 2. deploy two',
      '  [ ] 3. deploy three',
      '  Space: mark; Enter: allow the others once; Esc: back',
    ])
    keyboard.press('escape')
    await awake(clock)
    expect(terminal.shown.join('\n')).toContain('▸ n  no, none of them')
    keyboard.press('x')
    await awake(clock)
    keyboard.press('down', ' ', 'enter')
    expect(await outcome).toEqual(accepted({ calls: { c1: 'allow', c2: 'deny', c3: 'allow' } }))
    expect(terminal.lines.slice(-3)).toEqual([
      '✓ allowed once: deploy one',
      '✗ not allowed: deploy two',
      '✓ allowed once: deploy three',
    ])
  })

  test('HK10 HK11 of several calls, asks about the edits of one, and takes a reason for another', async () => {
    const once = [{ scope: 'once', words: 'once' }]
    const { terminal, ask, keyboard, clock } = desk()
    const changes = ['one', 'two'].map((name) => ({ added: 1, removed: 0, diff: `@@ -1,0 +1,1 @@\n+${name}` }))
    const preview = { files: [{ path: 'a', change: 'edit', added: 2, removed: 0, diff: '@@', edits: changes }] }
    const first = { ...asked({ to: 'one' }, once, 'c1'), edits: 2, preview } as ApprovePayload
    const { outcome } = await ask(batchPayload([first, asked({ to: 'two' }, once, 'c2')]))
    for (const key of ['e', 'e', 'y', 'enter', 'r', 'w', 'h', 'y', 'enter']) {
      keyboard.press(key)
      await awake(clock)
    }
    const edits = [{ decision: 'allow' }, { decision: 'deny' }]
    expect(await outcome).toEqual(
      accepted({ calls: { c1: { decision: 'allow', edits }, c2: { decision: 'deny', note: 'why' } } }),
    )
    expect(terminal.lines.slice(-2)).toEqual(['✓ allowed 1 of 2 edits: deploy one', '✗ not allowed (why): deploy two'])
  })

  test('HK10 edits that are not all shown cannot be decided about', async () => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask({ ...asked({ to: 'one' }, [{ scope: 'once', words: 'once' }], 'c1'), edits: 2 })
    keyboard.press('e')
    keyboard.press('n')
    expect(await outcome).toMatchObject({ status: 'rejected' })
  })

  test('works for the tool of a stage, and for a question without an approval text', async () => {
    const { terminal, ask, keyboard } = desk()
    const kind = 'grantStageTool'
    const { outcome: stage } = await ask({ ...asked(), kind, stageExecutionId: 'review\x1b[2J', argsDigest: 'D' })
    expect(terminal.lines).toContain('│ for the stage: review␛[2J')
    keyboard.press('y')
    expect(await stage).toEqual(accepted({ scope: 'once' }))
    const { outcome } = await ask({ kind: 'Approve', toolId: 'x', approvalKey: 'k', description: 'does\nthis' })
    expect(terminal.lines.slice(-3)).toEqual(['? Allow x?', '│ does', '│ this'])
    keyboard.press('n')
    expect(await outcome).toEqual(rejected(''))
  })

  test('on a terminal without redrawing the choices are printed once', async () => {
    const { terminal, ask, keyboard } = desk({ isInteractive: false })
    const { outcome } = await ask(asked())
    expect(terminal.lines).toContain('  y  yes, once')
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ scope: 'once' }))
  })
})

describe('a question', () => {
  test('is answered in words, and a paste keeps its newlines', async () => {
    const { terminal, ask, keyboard } = desk()
    const { outcome } = await ask({ kind: 'Ask', prompt: 'Which\x1b[2J port?\nSay it.', questionId: 'c1' })
    expect(terminal.lines).toEqual(['', '? The agent asks:', '│ Which␛[2J port?', '│ Say it.'])
    keyboard.press('80')
    keyboard.paste('\n81\n')
    expect(terminal.shown.slice(0, 3)).toEqual(['› 80', '  81', '  '])
    keyboard.press('enter')
    expect(await outcome).toEqual(accepted('80\n81'))
    expect(terminal.lines.slice(-2)).toEqual(['› 80', '  81'])
  })

  test('may be left unanswered', async () => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask({ kind: 'Ask', prompt: 'Which port?' })
    keyboard.press('80', 'escape')
    expect(await outcome).toEqual(rejected('no answer was given'))
  })

  test('a password never appears on the screen', async () => {
    const { terminal, ask, keyboard } = desk()
    const { outcome } = await ask({ kind: 'Auth.Password', prompt: 'For the database' })
    const seen: string[] = []
    for (const key of ['hun', 'ter', 'left', '2']) {
      keyboard.press(key)
      seen.push(...terminal.shown)
    }
    keyboard.press('enter')
    expect(await outcome).toEqual(accepted('hunte2r'))
    expect([...seen, ...terminal.lines].join('\n')).not.toMatch(/hun|ter2|\*|•/)
    expect(terminal.lines.at(-1)).toBe('› (given, not shown)')
  })

  test.each([
    [['y'], accepted(true)],
    [['n'], rejected('')],
    [['enter'], rejected('')],
    [['escape'], rejected('')],
    [['r', 'too big', 'enter'], rejected('too big')],
    [['r', 'escape', 'y'], accepted(true)],
  ])('a confirmation takes %j', async (keys, expected) => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask({ kind: 'Confirm', prompt: 'Go ahead?' })
    for (const key of keys) {
      keyboard.press(key)
      await nextLoop()
    }
    expect(await outcome).toEqual(expected)
  })

  test('a device code shows the address and waits', async () => {
    const { terminal, ask, keyboard, clock } = desk({ columns: 30 })
    const url = `https://example.test/device?${'x'.repeat(40)}`
    const { outcome } = await ask({ kind: 'Auth.DeviceCode', url, code: 'AB-\x1b12', expiresAt: clock.now() + 600_000 })
    expect(terminal.lines).toEqual(['', '? Sign in: open', `  ${url}`, '  and enter the code', '  AB-␛12'])
    await clock.advance(10_000)
    keyboard.press('enter')
    expect(await outcome).toEqual(accepted(true))
  })
})

describe('a choice', () => {
  const options = [{ label: 'red', description: 'like\na rose' }, 'green', 'grey']

  test.each([
    [['enter'], options[0]],
    [['down', 'enter'], 'green'],
    [['up', 'enter'], 'grey'],
    [['3', 'enter'], 'grey'],
    [['g', 'g', 'enter'], 'grey'],
    [['end', 'home', 'x', 'enter'], options[0]],
  ])('%j takes %j', async (keys, value) => {
    const { ask, keyboard, terminal } = desk()
    const { outcome } = await ask({ kind: 'Select', prompt: 'Which?', options })
    expect(terminal.shown[0]).toBe('▸ 1. red: like\\na rose')
    keyboard.press(...keys)
    expect(await outcome).toEqual(accepted(value))
  })

  test('several may be marked', async () => {
    const { ask, keyboard, terminal } = desk()
    const { outcome } = await ask({ kind: 'Select', prompt: 'Which?', options, multiSelect: true })
    keyboard.press('3', ' ', '1', ' ', 'down', ' ', ' ')
    expect(terminal.shown.slice(0, 3)).toEqual(['  [x] 1. red: like\\na rose', '▸ [ ] 2. green', '  [x] 3. grey'])
    keyboard.press('enter')
    expect(await outcome).toEqual(accepted([options[0], 'grey']))
  })

  test('free text is accepted where the question allows it', async () => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask({ kind: 'Select', prompt: 'Which?', options, allowFreeform: true })
    keyboard.press('up', 'enter')
    await nextLoop()
    keyboard.press('blue', 'enter')
    expect(await outcome).toEqual(accepted('blue'))
  })

  test('a list longer than the screen scrolls, and numbers of two digits work', async () => {
    const { ask, keyboard, terminal } = desk({ rows: 8 })
    const many = Array.from({ length: 30 }, (_, i) => `option ${i + 1}`)
    const { outcome } = await ask({ kind: 'Select', prompt: 'Which?', options: many })
    keyboard.press('2', '5')
    expect(terminal.shown).toContain('▸ 25. option 25')
    expect(terminal.shown.length).toBeLessThan(8)
    keyboard.press('enter')
    expect(await outcome).toEqual(accepted('option 25'))
  })

  test('without options the question is not answered', async () => {
    const { ask } = desk()
    const { outcome } = await ask({ kind: 'Select', prompt: 'Which?', options: [] })
    expect(await outcome).toEqual(rejected('no answer was given'))
  })
})

describe('trust in a project', () => {
  const project = (more = {}) => ({
    kind: 'trustProject',
    path: '/desk/app',
    summary: 'This project brings:\n- tools',
    ...more,
  })

  test.each([
    ['t', accepted('trust')],
    ['o', accepted('once')],
    ['d', accepted('decline')],
    ['enter', accepted('decline')],
    ['escape', rejected('')],
  ])('%s is an answer', async (key, expected) => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask(project({ about: 'project', items: [] }))
    keyboard.press(key)
    expect(await outcome).toEqual(expected)
  })

  test('TR-14 the summary is shown completely, escaped and behind the margin', async () => {
    const { ask, keyboard, terminal } = desk({ columns: 40 })
    const args = `--run ${'y'.repeat(5000)}\u202e\x1b]0;x\x07END`
    const { outcome } = await ask(project({ summary: `It wants:\n- new: ${args}` }))
    const text = terminal.lines
      .slice(2)
      .map((row) => row.slice(2))
      .join('')
    expect(text).toContain(`--run ${'y'.repeat(5000)}\\u202e␛]0;x\\x07END`)
    expect(terminal.lines.slice(2).every((row) => /^[│┆] /.test(row) && row.length < 40)).toBe(true)
    keyboard.press('d')
    await outcome
  })

  test('several parts can be trusted one by one', async () => {
    const { ask, keyboard } = desk()
    const { outcome } = await ask(project({ about: 'mcp', items: ['a', 'b', 'c'] }))
    keyboard.press('c')
    await nextLoop()
    keyboard.press('2', ' ', 'enter')
    expect(await outcome).toEqual(accepted(['b']))
  })
})

describe('UI66 a plan', () => {
  const plan = {
    kind: 'Confirm',
    prompt: 'Go ahead?',
    plan: '# Steps\n\n1. **Read** it\n2. Mend\x1b[2J it',
    questionId: 'c1',
  }

  test('is shown as Markdown and approved, or refused with a reason', async () => {
    const { terminal, keyboard, ask, clock } = desk()
    const yes = await ask(plan)
    expect(terminal.lines).toEqual([
      '',
      '? The agent presents a plan:',
      '│ Steps',
      '│ ',
      '│ 1. Read it',
      '│ 2. Mend␛[2J it',
    ])
    expect(terminal.shown).toContain('▸ n  no')
    keyboard.press('y')
    expect(await yes.outcome).toEqual(accepted(true))
    const no = await ask(plan)
    keyboard.press('r')
    await awake(clock)
    keyboard.press('too much', 'enter')
    expect(await no.outcome).toEqual(rejected('too much'))
    const closed = await ask(plan)
    keyboard.press('c', 'escape')
    expect(await closed.outcome).toEqual(rejected(''))
  })

  test('is changed in the editor, shown again, and approved as changed', async () => {
    const texts: string[] = []
    const editText = async (text: string): Promise<string> => {
      texts.push(text)
      return '1. Only read it'
    }
    const { terminal, keyboard, ask, clock } = desk({ editText })
    const { outcome } = await ask(plan)
    keyboard.press('c')
    await awake(clock)
    expect(texts).toEqual([plan.plan])
    expect(terminal.lines.at(-1)).toBe('│ 1. Only read it')
    keyboard.press('y')
    expect(await outcome).toEqual(accepted({ plan: '1. Only read it' }))
  })
})

test('UI62 a letter means the same in every dialog: y once, s session, p project, o outside, n no, r no because, w why', async () => {
  const { terminal, keyboard, ask } = desk({ rows: 40 })
  const extents = [
    ['y', 'once', 'inside'],
    ['o', 'once', 'outside'],
    ['s', 'session', 'inside'],
    ['p', 'project', 'inside'],
  ] as const
  const offered = extents.map(([, scope, where]) => ({ scope, where, words: `${scope} ${where}` }))
  for (const [key, scope, where] of extents) {
    const { outcome } = await ask(asked(undefined, offered))
    expect(terminal.shown).toContain(`  ${key}  yes, ${scope} ${where}`)
    expect(terminal.shown).toEqual(expect.arrayContaining(['▸ n  no', '  r  no, and say why', '  w  why am I asked']))
    keyboard.press(key)
    expect(await outcome).toEqual(accepted({ scope, where }))
  }
})
