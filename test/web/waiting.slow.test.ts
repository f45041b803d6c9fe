import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { expect, test, vi } from 'vitest'
import { call, scripted } from '../../src/testing/index.ts'
import { tool } from '../server/server-kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'
import { untilShown } from './screens.ts'
import { sharedHost } from './shared-host.ts'

/** The card that waits with this text in it. */
const card = (page: Page, text: string): Locator => page.locator('.card', { hasText: text })

/** Presses a button of a card, whose buttons work only in sight. */
async function press(where: Locator, name: string): Promise<void> {
  await where.locator('.card-actions').scrollIntoViewIfNeeded()
  await where.getByRole('button', { name, exact: true }).click()
}

/** Requests that are held back until they are let go. */
async function hold(page: Page, address: RegExp): Promise<() => void> {
  const gate = Promise.withResolvers<void>()
  await page.route(address, async (route) => {
    await gate.promise
    await route.continue()
  })
  return gate.resolve
}

/** In the page: what is to happen after half a second happens when the test lets it. */
function holdHalfSeconds(): void {
  const { setTimeout: start } = globalThis
  const heldTimers: (() => void)[] = []
  let isHolding = true
  const held = (work: () => void, ms?: number): unknown =>
    ms === 500 && isHolding ? heldTimers.push(work) : start(work, ms)
  const letTimersGo = (): void => {
    isHolding = false
    for (const work of heldTimers) work()
  }
  Object.assign(globalThis, { setTimeout: held, heldTimers, letTimersGo })
}

inBrowser('what waits', (browser) => {
  const shared = sharedHost()

  /** Begins sessions, each of which soon waits for a call, and opens what waits. */
  async function openWaiting(calls: Readonly<Record<string, { call: string; args: object }>>, init?: () => void) {
    const { service, host } = shared()
    const { url, link, send, desk, untilOver } = host
    for (const [id, step] of Object.entries(calls)) {
      service.play([step])
      await send('/v1/sessions', { id, title: `Session ${id}`, message: `Do ${id}`, folder: desk.cwd })
      await untilOver(id)
    }
    const page = await openTab(browser(), link, { mayReport: /status of 422/ })
    await untilShown(page)
    if (init) await page.addInitScript(init)
    await page.goto(`${url}/waiting`)
    return page
  }

  const pending = async (): Promise<string[]> =>
    (await shared().host.send('/v1/pending')).body.pending.map(
      ({ name, input }: { name: string; input: { command?: string } }) =>
        input.command === undefined ? name : `${name} ${input.command}`,
    )

  test('WB90 WB94 an approval is shown whole and works only after half a second in sight, by its letters, never by Enter', async () => {
    const tests = { call: 'shell', args: { command: 'node --test' } }
    const page = await openWaiting({ tests }, holdHalfSeconds)
    const shell = card(page, 'node --test')
    await shell.waitFor()
    expect(await page.title()).toBe('(4) Libero')
    expect(await shell.innerText()).toMatch(/asked because.*the mode is ask.*commands run.*sandbox/s)
    const allow = shell.getByRole('button', { name: 'Allow once' })
    await shell.scrollIntoViewIfNeeded()
    await page.waitForFunction('heldTimers.length > 0')
    await shell.focus()
    await page.keyboard.press('y')
    expect(await allow.isDisabled()).toBe(true)
    expect(await pending()).toContain('shell node --test')
    await page.evaluate('letTimersGo()')
    await vi.waitFor(async () => expect(await allow.isEnabled()).toBe(true), { timeout: 10_000 })

    await shell.focus()
    await page.keyboard.press('Enter')
    await press(shell, 'Deny, because …')
    await shell.getByLabel('Why not?').pressSequentially('y n')
    expect(await pending()).toContain('shell node --test')
    await shell.focus()
    await page.keyboard.press('y')
    await shell.waitFor({ state: 'detached' })
    await page.getByRole('region', { name: 'Answered' }).getByText('allowed by').waitFor()
  })

  test('WB91 a wider choice says what it covers; several calls are answered together, except those without a mark', async () => {
    const shell = (command: string) => ({ call: 'shell', args: { command } })
    const page = await openWaiting({
      ...{ publish: shell('npm publish'), remove: shell('rm -rf build') },
      ...{ fetch: shell('curl -s https://example.com'), commit: shell('git commit -m one') },
    })
    const publish = card(page, 'npm publish')
    await publish.locator('.why-asked summary').click()
    await publish.getByText('what would change it').waitFor()
    await press(publish, 'More')
    expect(await publish.locator('.card-choices').innerText()).toMatch(
      /outside any sandbox, with all your rights.*in this session: exactly.*npm publish/s,
    )
    for (const box of await page.getByRole('checkbox', { name: 'with others' }).all()) await box.uncheck()
    for (const text of ['rm -rf build', 'curl -s'])
      await card(page, text).getByRole('checkbox', { name: 'with others' }).check()
    const together = page.getByRole('group', { name: 'Answer several together' })
    await together.scrollIntoViewIfNeeded()
    const letAnswers = await hold(page, /\/answers\//)
    await together.getByRole('button', { name: 'Deny 2' }).click()
    expect(await together.getByRole('button', { name: 'Deny 2' }).isDisabled()).toBe(true)
    letAnswers()
    await card(page, 'rm -rf build').waitFor({ state: 'detached' })
    await card(page, 'curl -s').waitFor({ state: 'detached' })
    expect(await pending()).toContain('shell npm publish')

    // The rule that the project keeps is changed on the card; one that leaves the call out is refused, with the reason.
    const commit = card(page, 'git commit')
    await press(commit, 'More')
    const rule = commit.getByLabel('Or always allow')
    expect(await rule.inputValue()).toMatch(/^shell:git commit /)
    await rule.fill('shell:git push *')
    await press(commit, 'Keep this rule')
    await commit.getByRole('alert').filter({ hasText: 'does not cover' }).waitFor()
    await rule.fill('shell:git commit -m *')
    await press(commit, 'Keep this rule')
    await commit.waitFor({ state: 'detached' })
    const grants = async () => JSON.stringify((await shared().host.send('/v1/grants')).body)
    await vi.waitFor(async () => expect(await grants()).toContain('shell:git commit -m *'), { timeout: 20_000 })
  })

  test('WB92 WB93 single edits, a question and a plan are decided on their cards', async () => {
    const { service, host } = shared()
    const edits = [
      { old_string: 'const whole', new_string: 'const all' },
      { old_string: 'const rebate', new_string: 'const discount' },
    ]
    const page = await openWaiting({ edits: { call: 'multi_edit', args: { path: 'src/cart.js', edits } } })
    const names = card(page, 'multi_edit')
    await press(names, 'Each of 2 edits')
    await names.getByRole('checkbox', { name: 'Make this edit' }).first().check()
    await names.getByLabel('Why not (optional)').fill('It is one.')
    await page.reload() // what is marked stays
    expect(await names.getByLabel('Why not (optional)').inputValue()).toBe('It is one.')
    const some = names.getByRole('button', { name: 'Allow 1 of 2 edits' })
    await some.scrollIntoViewIfNeeded()
    await some.click()
    await names.waitFor({ state: 'detached' })
    const file = () => readFileSync(join(host.desk.cwd, 'src/cart.js'), 'utf8')
    await vi.waitFor(() => expect(file()).toContain('const all'), { timeout: 10_000 })
    expect(file()).toContain('const rebate')

    // Own words replace an option, and an option replaces them.
    const question = card(page, 'Which database')
    await question.getByLabel('Postgres').check()
    await question.getByLabel('In your own words').fill('Postgres 17')
    expect(await question.getByLabel('Postgres').isChecked()).toBe(false)
    // What is written on a card is there after a reload.
    await page.reload()
    const words = question.getByLabel('In your own words')
    await vi.waitFor(async () => expect(await words.inputValue()).toBe('Postgres 17'), { timeout: 20_000 })
    await question.getByLabel('Postgres').check()
    await page.reload()
    await vi.waitFor(async () => expect(await question.getByLabel('Postgres').isChecked()).toBe(true))
    await press(question, 'Answer')
    await question.waitFor({ state: 'detached' })
    const plan = card(page, 'The agent presents a plan')
    await press(plan, 'Change')
    await plan.getByLabel('The plan').fill('1. Test an empty cart')
    await press(plan, 'Approve with changes')
    await plan.waitFor({ state: 'detached' })
    const heard = (): unknown[] =>
      service.requests.flatMap(({ messages }) => messages.map(({ content }: { content: unknown }) => content))
    const changed = expect.stringContaining('Carry out this version:\n\n1. Test an empty cart')
    await vi.waitFor(() => expect(heard()).toContainEqual(changed), { timeout: 10_000 })
    expect(heard()).toContain('The user answered: Postgres')
  })

  test('WB95 WB96 a hidden page tells that something waits; of two answers one counts, and the other person is told', async () => {
    const script = scripted([call('1', 'deploy', { to: 'production' })], 'Deployed.')
    const { url, link, send } = await servePage({
      provider: () => script,
      tools: { deploy: tool('deploy', { gated: true }) },
    })
    const first = await openTab(browser(), link, { mayReport: /501|409|404/ })
    const second = await openTab(browser(), link, { mayReport: /501|409|404/ })
    for (const page of [first, second]) await untilShown(page)
    await first.addInitScript(hideAndRecord)
    await first.goto(`${url}/rules`)
    await second.goto(`${url}/waiting`)
    await second.getByText('Nothing waits for you').waitFor()
    await vi.waitFor(async () => expect(await first.title()).toBe('Libero'), { timeout: 10_000 })
    await send('POST', '/v1/sessions', { id: 's', title: 'Publish it', message: 'Publish' })
    await vi.waitFor(async () => expect(await first.title()).toBe('(1) Libero'), { timeout: 10_000 })
    await first.locator('link[rel=icon][href^="data:image/svg"]').waitFor({ state: 'attached' })
    expect(await first.evaluate('told')).toEqual(['Waiting for you: Publish it'])

    await first.evaluate('isHidden = false')
    await first.getByRole('link', { name: 'Waiting' }).click()
    const [one, other] = [card(first, 'deploy'), card(second, 'deploy')]
    await other.waitFor()
    const letPending = await hold(second, /\/v1\/pending/)
    const letAnswer = await hold(second, /\/answers\//)
    await press(other, 'Deny')
    await press(one, 'Allow once')
    await one.waitFor({ state: 'detached' })
    letAnswer()
    await other.getByText('It was allowed by user before; the first answer counts.').waitFor()
    expect(await other.getByRole('button', { name: 'Deny', exact: true }).isDisabled()).toBe(true)
    letPending()
    await other.waitFor({ state: 'detached' })
    const { body } = await send('GET', '/v1/sessions/s/entries?limit=1000')
    const answers = body.entries.filter(({ type }: { type: string }) => type === 'approval_answered')
    expect(answers).toMatchObject([{ decision: 'allow' }])
  })
})

/** In the page: it is hidden until `isHidden` is false, and notifications are written down. */
function hideAndRecord(): void {
  const told: string[] = []
  class Told {
    static permission = 'granted'
    constructor(title: string, { body }: { body: string }) {
      told.push(`${title}: ${body}`)
    }
  }
  Object.assign(globalThis, { Notification: Told, told, isHidden: true })
  Object.defineProperty(document, 'hidden', { get: () => (globalThis as unknown as { isHidden: boolean }).isHidden })
}
