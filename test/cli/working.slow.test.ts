import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { gate, type Step } from '../rpc/mock-service.ts'
import type { Desk } from './cli-kit.ts'
import { foreignIn, type PseudoTerminal } from './pseudo-terminal.ts'
import { hostile } from './screen-scenes.ts'
import { afterFile, atTerminal, inputOf } from './sitting.ts'

// One `libero` in a pseudo-terminal for all tests of this file: each goes on where the one before ended.
const here = atTerminal()
const onEnd = afterFile()
let desk: Desk
let terminal: PseudoTerminal

beforeAll(async () => {
  desk = here.openDesk(onEnd)
  const file = join(desk.home, 'config.json')
  const config = JSON.parse(readFileSync(file, 'utf8'))
  const priced = { ...config.providers.mock, contextWindow: 20_000, price: { input: 100, output: 100 } }
  config.providers = { mock: priced, other: { ...priced, model: 'other-1' } }
  writeFileSync(file, JSON.stringify(config))
  desk.write('../home/commands/greet.md', '---\ndescription: Greet people\n---\nGreet $1, all of: $ARGUMENTS.')
  desk.write('../home/commands/broken.md', '---\nmode: yolo\n---\nGo.')
  terminal = await here.sit(desk, { rows: 50, env: { TERM_PROGRAM: 'vscode' }, onEnd })
})

beforeEach(async () => {
  // Keys that come together with a text count as pasted, so the line is cleared until it is empty.
  let looks = 0
  await terminal.until((text) => {
    const isEmpty = !terminal.isAlternate && inputOf(text) === ''
    if (!isEmpty && looks++ % 25 === 0) terminal.type('\x15')
    return isEmpty
  }, 'an empty input')
})

/** Types, and waits until the screen is like that. */
async function seen(keys: string, wanted: RegExp): Promise<void> {
  terminal.type(keys)
  await terminal.until(wanted, `${JSON.stringify(keys)}, then ${wanted}`)
}

/** Types, and waits until the run has ended with these words. */
async function answered(keys: string, words: string): Promise<void> {
  terminal.type(keys)
  await terminal.until(
    (text) => text.lastIndexOf('enter sends') > text.lastIndexOf(words) && text.includes(words),
    words,
  )
}

/** A question about a call, ready for keys. */
const asks = (what: string): RegExp => new RegExp(`Allow [^\\n]*\\?(?:(?!Allow)[\\s\\S])*${what}[\\s\\S]*Esc: no`)
const touch = (name: string): Step => ({ call: 'shell', args: { command: `touch ${name}` } })
const made = (name: string): boolean => existsSync(join(desk.cwd, name))
const said = (request: number): string => JSON.stringify(here.service.requests[request]?.messages)

test('UI20 UI74 a message during a run steers it, a queued one is sent when the run has ended', async () => {
  const held = gate()
  here.service.play([{ say: 'Begun.' }, { hang: held }], [{ say: 'Steered.' }], [{ say: 'Then the queued one.' }])
  await seen('go\r', /Begun\./)
  await seen('turn left\r', /1 message on the way/)
  await seen('and later\x1b\r', /1 queued/)
  held.open()
  await answered('', 'Then the queued one.')
  expect([said(1).includes('turn left'), said(1).includes('and later')]).toEqual([true, false])
  expect(said(2)).toContain('and later')
})

test('UI21 a stop is told, and what is queued stays until the person goes on', async () => {
  here.service.play([{ say: 'A long one.' }, { hang: gate() }], [{ say: 'The kept one.' }])
  await seen('work\r', /A long one\./)
  await seen('keep this\x1b\r', /1 queued/)
  await seen('\x1b', /· Stopped[\s\S]*1 queued/)
  expect(here.service.requests).toHaveLength(1)
  terminal.type('\x1b[1;3A') // Alt+Up takes it back
  await terminal.until((text) => inputOf(text) === 'keep this' && !text.includes('1 queued'))
  await answered('\r', 'The kept one.')
})

test('UI22 UI28 the mode is switched during a run, counts for its next call, is audited, and no key leads to yolo', async () => {
  const held = gate()
  here.service.play([{ say: 'I wait for you.' }, { hang: held }, touch('never')], [{ say: 'It was refused.' }])
  await seen('begin\r', /I wait for you\./)
  await seen('/mode plan\r', /\n plan · /)
  held.open()
  await answered('', 'It was refused.')
  expect(made('never')).toBe(false)
  for (const mode of ['ask', 'allowlist', 'plan', 'ask']) await seen('\x1b[Z', new RegExp(`\\n ${mode} · [^\\n]*$`))
  const audit = globSync(join(desk.home, 'audit/*.jsonl')).map((file) => readFileSync(file, 'utf8'))
  expect(audit.join('')).toMatch(/"event":"ModeChanged".*"plan"/)
})

test('UI23 UI29 another provider goes on with the same session after the run; price and window are those of the config', async () => {
  const held = gate()
  here.service.play([{ say: 'The first provider.' }, { hang: held }], [{ say: 'The other provider.' }])
  await seen('who are you?\r', /The first provider\./)
  await seen('/model other/other-1\r', /other-1/)
  expect(here.service.requests).toHaveLength(1)
  held.open()
  await answered('', 'The first provider.')
  await terminal.until(/\n ask · other-1 · [^\n]* context 1 % · \$0\.\d+, next about \$0\.\d+$/)
  await answered('and you?\r', 'The other provider.')
  expect(here.service.requests[1].model).toBe('other-1')
  expect(said(1)).toMatch(/The first provider\..*and you\?/)
})

test('UI30 UI42 the forecast counts what is typed, before it is sent; /cost tells it with the most that it may be', async () => {
  const next = (): number => Number(/next about \$([\d.]+)[^\n]*$/.exec(terminal.text())?.[1])
  const before = next()
  terminal.type('\x1b[200~')
  terminal.type(`${'many words '.repeat(180)}\x1b[201~`)
  await terminal.until(() => next() > before + 0.03, 'a forecast with the draft')
  terminal.type('\x03')
  await terminal.until(() => next() === before, 'the forecast without it')
  await seen(
    '/cost\r',
    /model calls: [\d,]+ tokens read \(\d+ % from the cache\)[\s\S]*cost: \$[\s\S]*next model call: about \$[\d.]+, at most \$[\d.]+/,
  )
  await seen('/context\r', /tokens of 20,000 \(1 %\)[\s\S]*your messages/)
})

test('UI31 in whatever order a person sends, steers, queues, stops and switches, no message is lost or doubled', async () => {
  const acts = fc.constantFrom('send', 'send', 'queue', 'queue', 'stop', 'model', 'mode', 'pause')
  const [order] = fc.sample(fc.array(acts, { minLength: 40, maxLength: 40 }), { numRuns: 1, seed: 31 })
  const wait = (): Promise<void> => pause(40)
  here.service.play(...Array.from({ length: 60 }, () => [{ say: 'Yes, ' }, { wait: wait() }, { say: 'done.' }]))
  const words: string[] = []
  const before = here.service.requests.length // a second try of this test goes on in the same session
  for (const [i, act] of order!.entries()) {
    const word = `message-${before}-${i}-`
    if (act === 'send' || act === 'queue') words.push(word)
    if (act === 'send') terminal.type(`${word}\r`)
    if (act === 'queue') terminal.type(`${word}\x1b\r`)
    if (act === 'stop') terminal.type('\x1b[27u') // ESC as kitty sends it: with a letter behind it, it is no Alt
    if (act === 'model') terminal.type(i % 2 ? '/model mock-1\r' : '/model mock-2\r')
    if (act === 'mode') terminal.type('\x1b[Z')
    await pause(25)
  }
  // What a stop left in the queue goes on with the next message.
  for (let round = 0; round < 10; round++) {
    const history = JSON.stringify(here.service.requests.at(-1)?.messages ?? [])
    if (words.every((word) => history.includes(word))) break
    const more = `more-${before}-${round}`
    terminal.type(`${more}\r`)
    await terminal.until(() => here.service.requests.some(({ messages }) => JSON.stringify(messages).includes(more)))
    await terminal.until(/enter sends[^\n]*\n[^\n]*$/)
  }
  const history = JSON.stringify(here.service.requests.at(-1).messages)
  for (const word of words) expect([word, history.split(word).length - 1]).toEqual([word, 1])
  await seen('/mode ask\r', /\n ask · [^\n]*$/)
})

test('UI35 a line with a slash is a command, a typo names the one that was meant, and a path is a message', async () => {
  await seen('/modle x\r', /There is no command \/modle, did you mean [^\n]*"\/model"/)
  here.service.play([{ say: 'A path, then.' }])
  await answered('\x15/tmp/x is broken\r', 'A path, then.')
  expect(said(0)).toContain('/tmp/x is broken')
})

test('UI44 UI47 a few letters find a command, and values of its argument are completed', async () => {
  await seen('/rwd', /▸ \/rewind/)
  await seen('\x15/thinking hi', /▸ high/)
  await seen('\x1b\x15', / › *\n[^\n]*enter sends/)
})

test('UI48 UI49 a Markdown file of the person is a command with arguments; one that is broken is named and left out', async () => {
  here.service.play([{ say: 'Greeted.' }])
  await answered('/greet Ada and Bob\r', 'Greeted.')
  expect(said(0)).toContain('Greet Ada, all of: Ada and Bob.')
  await seen('/broken\r', /There is no command \/broken/)
  terminal.type('\x15/help\r')
  await terminal.until(() => terminal.isAlternate)
  await seen('G', /broken\.md is left\s+out:\s+its\s+mode\s+must\s+be\s+one\s+of\s+plan/)
  terminal.type('q')
})

test('UI51 /init and /review are shipped', async () => {
  here.service.play([{ say: 'An AGENTS file.' }], [{ say: 'Nothing to review.' }])
  await answered('/init the tests\r', 'An AGENTS file.')
  expect(said(0)).toMatch(/AGENTS\.md.*the tests/)
  await answered('/review\r', 'Nothing to review.')
  expect(said(1)).toMatch(/diff/)
})

test('UI40 /compact replaces the older part of the conversation by a summary at once', async () => {
  here.service.play([{ say: 'What was said, in short.' }], [{ say: 'After the summary.' }])
  await seen('/compact\r', /is now a summary of \d+ characters/)
  await answered('go on\r', 'After the summary.')
  expect(said(1)).toContain('What was said, in short.')
  expect(here.service.requests[1].messages.length).toBeLessThan(12)
})

test('UI84 a question stands below what the model said before it, however fast it comes', async () => {
  here.service.play([{ say: 'I make a file first.' }, touch('one')], [{ say: 'Left alone.' }])
  await seen('make one\r', asks('touch one'))
  const text = terminal.text()
  expect(text.indexOf('I make a file first.')).toBeLessThan(text.lastIndexOf('Allow shell?'))
  await answered('n', 'Left alone.')
})

test('UI107 keys in a viewer answer no question that waits below it', async () => {
  const held = gate()
  here.service.play([{ say: 'Soon.' }, { hang: held }, touch('two')], [{ say: 'Not done.' }])
  await seen('make two\r', /Soon\./)
  terminal.type('\x14')
  await terminal.until(() => terminal.isAlternate)
  held.open()
  await terminal.see('A question waits for you: q closes this')
  terminal.type('y')
  await pause(300)
  expect([terminal.isAlternate, made('two')]).toEqual([true, false])
  await seen('q', asks('touch two'))
  await answered('n', 'Not done.')
})

test('UI108 UI43 the rule for always is shown and changed, told in words before it counts, listed and revoked; /why tells of it', async () => {
  here.service.play([touch('three')], [touch('four')], [{ say: 'Both are there.' }])
  await seen('make three\r', asks('shell:touch \\*'))
  await seen('c', /Always allow: shell:touch \*[\s\S]*Enter: done/)
  await seen('\x15shell:touch x*\r', /the rule "shell:touch x\*" does not cover `touch three`[\s\S]*Always allow: /)
  await seen('\x15shell:touch *\r', /p {2}yes, always: every `touch \*` in this project/)
  await answered('p', 'Both are there.')
  expect([made('three'), made('four')]).toEqual([true, true])
  await seen('/why 1\r', /shell touch four[\s\S]*(?:approval|grant)/)
  await seen('/grants\r', /Kept approvals: choose one to revoke it[\s\S]*shell: every `touch \*`/)
  await seen('\r', /Revoked: shell: every `touch \*`/)
})

test('UI59 the log lists its entries, filters them, goes to a number and shows one as JSON', async () => {
  terminal.type('/log\r')
  await terminal.until((text) => terminal.isAlternate && text.includes('run_ended'))
  await seen(':1\r', /▸ *1 /)
  await seen('/approval_answered', /1 of \d+ *\n▸ +\d+ approval_answered/)
  await seen('\r\r', /Entry \d+: approval_answered[\s\S]*"decision": "(?:allow|deny)"/)
  await seen('q', /Log of/)
  terminal.type('q')
})

test('UI71 text of a model cannot move the cursor, set a title, leave the screen or hide characters', async () => {
  const titles = terminal.titles.length
  const from = terminal.raw.length
  const all = hostile.map((text, i) => `${i}: a${text}b`).join('\n\n')
  here.service.play([{ say: `${all}\n\n| a |\n|---|\n| ${hostile[0]} |\n\nAll of it was said.` }])
  await answered('say it\r', 'All of it was said.')
  expect([
    terminal.titles.slice(titles).filter((title) => !title.startsWith('libero · ')),
    terminal.isAlternate,
  ]).toEqual([[], false])
  expect(foreignIn(terminal.raw.slice(from))).toEqual([])
})
