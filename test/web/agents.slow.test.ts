import { expect, onTestFinished, test, vi } from 'vitest'
import { call } from '../../src/testing/scripted.ts'
import { definition, world } from '../workflow/kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'

inBrowser('agents', (browser) => {
  test('WB100 WB101 WB102 agents are made, told, answered, set up, scheduled, closed and deleted', async () => {
    const alarm = [call('1', 'alarm-clock', { wakeAtISO: '2999-01-01T00:00:00Z' })]
    const { workflow, store } = world(['Tidy.', alarm, 'Again.'], {
      definitions: [definition('alarm-clock')],
      settings: { approval: { 'alarm-clock': { mode: 'confirm' } } },
    })
    onTestFinished(() => workflow.close())
    const { url, link } = await servePage({ store, workflowFor: async () => workflow })
    const page = await openTab(browser(), link, { mayReport: /404|501/ })
    const main = page.getByRole('main')
    await main.getByRole('heading', { name: 'Sessions' }).waitFor()

    // Made from a definition, with a first message; told another one.
    await page.goto(`${url}/agents`)
    await main.getByText('No agents yet').waitFor()
    await page.getByRole('button', { name: 'New agent' }).click()
    await page.getByLabel('Name (optional)').fill('keeper')
    await page.getByLabel('First message (optional)').fill('Tidy the drawer')
    await page.getByRole('button', { name: 'Make the agent' }).click()
    await main.getByRole('heading', { name: 'keeper' }).waitFor()
    await main.getByText('Tidy.', { exact: true }).waitFor()
    await page.getByLabel('Message', { exact: true }).fill('Wake me')
    await page.getByLabel('Message', { exact: true }).press('Enter')

    // Its call waits here, and is answered through the agent.
    const card = page.locator('.card', { hasText: 'alarm-clock' })
    await card.waitFor()
    await card.getByRole('button', { name: 'Allow once' }).click()
    await card.waitFor({ state: 'detached' })
    await main.getByText('idle').waitFor()

    // The message is taken back into the input.
    await main.locator('.agent-message', { hasText: 'Wake me' }).getByRole('button', { name: 'Take back' }).click()
    await vi.waitFor(
      async () => expect(await page.getByLabel('Message', { exact: true }).inputValue()).toBe('Wake me'),
      { timeout: 10_000 },
    )

    // Approval of one tool, then retries of all agents.
    const id = page.url().split('/').at(-1)!
    await page.getByRole('button', { name: 'Settings' }).click()
    await main.locator('summary', { hasText: 'alarm-clock' }).click()
    await main.locator('.rule-fields select').selectOption('auto')
    await page.getByLabel('Deny if it matches').fill('2999')
    await page.getByLabel('Time limit of a call, seconds').fill('9')
    await page.getByRole('button', { name: 'Save' }).click()
    await main.getByText('auto · 9 s').waitFor()
    const settings = await workflow.getAgentSettings(id)
    expect(settings.plugins).toMatchObject([{ approval: { mode: 'auto', denyPatterns: ['2999'] }, timeoutMs: 9000 }])
    await page.goto(`${url}/agents`)
    await page.getByRole('button', { name: 'Approval and retries' }).click()
    await page.getByLabel('Attempts').fill('4')
    await page.getByLabel('First pause, seconds').fill('2')
    await page.getByRole('button', { name: 'Save for all agents' }).click()
    await vi.waitFor(() => expect(workflow.settings.retry).toEqual({ maxAttempts: 4, initialDelayMs: 2000 }), {
      timeout: 10_000,
    })

    // A schedule: made, told in words, paused, changed, deleted.
    await page.goto(`${url}/schedules`)
    await page.getByRole('button', { name: 'New schedule' }).click()
    await page.locator('select[name=agent]').selectOption({ label: 'keeper' })
    await page.getByLabel('Every, in minutes').fill('30')
    await page.getByLabel('What the agent is told').fill('Look at the notes')
    await page.getByRole('button', { name: 'Make the schedule' }).click()
    // The alarm of the call above is a schedule too.
    const item = main.locator('.item-list > li', { hasText: 'Look at the notes' })
    await item.getByText('in 30 minutes').waitFor()
    expect(await item.innerText()).toContain('every 30 minutes · 0 runs')
    await item.getByRole('button', { name: 'Pause' }).click()
    await item.getByText('paused').waitFor()
    await item.getByRole('button', { name: 'Change' }).click()
    await item.getByLabel(/^When/).selectOption('cron')
    await item.getByRole('button', { name: 'Save' }).click()
    await item.getByText('Monday to Friday at 09:00').waitFor()
    await item.getByRole('button', { name: 'Delete' }).click()
    await item.getByRole('button', { name: 'Delete for good' }).click()
    await item.waitFor({ state: 'detached' })
    await main.getByText('alarm', { exact: true }).waitFor()

    // Closed for good, then deleted.
    await page.goto(`${url}/agents/${id}`)
    await page.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Close for good' }).click()
    await main.getByText('This agent is closed.').waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await main.getByText('No agents yet').waitFor()
  })
  test('WB100 what is written to an agent stays while the agent cannot be read and while another message is sent', async () => {
    const { workflow, store } = world(['One.', 'Two.'], { definitions: [definition()] })
    onTestFinished(() => workflow.close())
    const { id } = await workflow.createAgent('helper')
    const { url, link } = await servePage({ store, workflowFor: async () => workflow })
    const page = await openTab(browser(), link, { mayReport: /404|500|501/ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.goto(`${url}/agents/${id}`)
    const field = page.getByLabel('Message', { exact: true })
    const problem = page.getByText('answered with status 500')

    // The first try fails, the next one has its key.
    const keys: (string | undefined)[] = []
    const { promise: written, resolve: goOn } = Promise.withResolvers<void>()
    await page.route(`**/v1/agents/${id}/messages`, async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      keys.push(route.request().headers()['idempotency-key'])
      if (keys.length === 1) return route.fulfill({ status: 500 })
      await written
      return route.continue()
    })
    await field.fill('first')
    await field.press('Enter')
    await problem.waitFor()
    await field.press('Enter')
    await vi.waitFor(() => expect(keys).toHaveLength(2), { timeout: 10_000 })
    await field.fill('second')
    goOn()
    await page.getByText('One.', { exact: true }).waitFor()
    expect(keys[1]).toBe(keys[0])
    expect(await field.inputValue()).toBe('second')

    // The agent changes, and cannot be read.
    await page.route(`**/v1/agents/${id}`, (route) => route.fulfill({ status: 500 }))
    await workflow.sendMsgToAgent(id, 'again')
    await problem.waitFor()
    expect(await field.inputValue()).toBe('second')
    await page.unroute(`**/v1/agents/${id}`)
    await page.getByRole('button', { name: 'Try again' }).click()
    await problem.waitFor({ state: 'detached' })
    await page.getByText('Two.', { exact: true }).waitFor()
    expect(await field.inputValue()).toBe('second')
    await page.reload()
    await expect.poll(() => field.inputValue(), { timeout: 10_000 }).toBe('second')
    // What is taken back is added to what is being written.
    await page.getByRole('button', { name: 'Take back' }).last().click()
    await expect.poll(() => field.inputValue(), { timeout: 10_000 }).toBe('second\nagain')
  })
})
