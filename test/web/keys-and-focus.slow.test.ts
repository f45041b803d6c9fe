import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { tool } from '../server/server-kit.ts'
import { testInTurns } from '../soak.ts'
import { inBrowser } from './browser-kit.ts'
import { ended, eventually, openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

const test = testInTurns(2)

/** What has the focus, by its name or its role. */
const focused = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { activeElement: one } = document
    return one?.getAttribute('aria-label') ?? one?.textContent?.trim() ?? ''
  })

inBrowser('keys and the focus', (browser) => {
  test('WB140 Esc closes what was opened last, one after the other, and only then stops the run', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's', { viewport: { width: 1000, height: 700 } })
    const feed = page.getByRole('feed')
    await write(page, 'Begin')
    model.say('I begin. ')
    await feed.getByText('I begin.').waitFor()
    const details = page.getByRole('button', { name: 'Details', exact: true })
    const find = page.getByRole('searchbox', { name: 'Find in this session' })
    await details.click()
    await page.getByRole('tab', { name: 'Files' }).waitFor()
    await page.keyboard.press('Control+f')
    await find.waitFor()
    // From elsewhere the same key leads to the field, and the browser's own find opens only from there.
    await feed.focus()
    await page.keyboard.press('Control+f')
    await eventually(() => focused(page)).toBe('Find in this session')
    await feed.focus()
    await page.keyboard.press('Escape')
    await find.waitFor({ state: 'detached' })
    await page.getByRole('tab', { name: 'Files' }).focus()
    await page.keyboard.press('Escape')
    await page.getByRole('tab', { name: 'Files' }).waitFor({ state: 'hidden' })
    await eventually(() => focused(page)).toBe('Details')

    // Esc that takes back what an input method suggests is not for the page.
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.dispatchEvent('keydown', { key: 'Escape', isComposing: true })
    model.say('I go on.')
    await feed.getByText('I go on.').waitFor()
    expect(await page.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(1)
    await field.focus()
    await page.keyboard.press('Escape')
    await feed.getByText('Interrupted here').waitFor()
  })

  test('WB140 on a phone Esc closes the drawer, and the run goes on', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's', { viewport: { width: 390, height: 800 } })
    await page.getByRole('textbox', { name: 'Message' }).fill('Begin')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    model.say('I begin. ')
    await page.getByRole('feed').getByText('I begin.').waitFor()
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.click()
    await page.getByRole('link', { name: 'Usage' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Usage' }).waitFor({ state: 'hidden' })
    expect(await page.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(1)
  })

  test('WB140 the focus goes on after a card that closes, a new title, the search and a screen that goes; the title has count and name', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await served.send('POST', '/v1/sessions', { id: 's', title: 'Save it all' })
    const page = await openSession(browser(), served, 's')
    await eventually(() => page.title()).toBe('Save it all · Libero')
    const title = page.getByTitle('Rename')
    await title.click()
    const field = page.getByRole('textbox', { name: 'Title' })
    await field.fill('Save some')
    await field.press('Enter')
    await eventually(() => focused(page)).toBe('Save some')

    await write(page, 'Save it')
    model.reply('Now.', [call('c1', 'save', { text: 'a' })])
    const allow = page.getByRole('button', { name: 'Allow once' })
    await eventually(() => page.title()).toBe('(1) Save some · Libero')
    model.reply('Saved.')
    await allow.click()
    await page.getByRole('feed').getByText('Saved.').waitFor()
    await eventually(() => page.title()).toBe('Save some · Libero')
    await eventually(() => focused(page)).toBe('Conversation')

    await page.keyboard.press('Control+f')
    await page.getByRole('searchbox').waitFor()
    await page.getByRole('button', { name: 'Close the search' }).click()
    await eventually(() => focused(page)).toBe('Conversation')

    await page.getByRole('tab', { name: 'Log' }).click()
    await page.getByRole('link', { name: 'Inspect the whole log' }).click()
    await page.getByRole('listbox', { name: 'Entries' }).waitFor()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('screen')
  })

  test('WB139 what is typed while the code of the search or the palette is loaded goes there, not into the message', async () => {
    const served = await serveLed()
    await writeSession(served.store, 's', [turn('u1', 'user', text('Where is the needle?'))])
    const page = await openSession(browser(), served, 's')
    for (const code of [/find-field/, /palette/])
      await page.route(code, async (route) => {
        await page.waitForTimeout(300)
        await route.continue()
      })
    const message = page.getByRole('textbox', { name: 'Message' })
    await message.fill('half a thought')
    await page.keyboard.press('Control+f')
    await page.keyboard.type('needle\n')
    await eventually(() => page.getByRole('searchbox').inputValue()).toBe('needle')
    await page.keyboard.type(' x')
    expect(await page.getByRole('searchbox').inputValue()).toBe('needle x')
    await message.focus()
    await page.keyboard.press('Control+k')
    await page.keyboard.type('usag')
    await page.getByRole('combobox').waitFor()
    await page.keyboard.type('e')
    expect(await page.getByRole('combobox').inputValue()).toBe('usage')
    expect(await message.inputValue()).toBe('half a thought')
  })

  test('WB75 what comes while the search is open is found too, and the hit in sight stays the same', async () => {
    const { model, ...served } = await serveLed()
    await writeSession(served.store, 's', [
      turn('u1', 'user', text('Where is the needle?')),
      turn('a1', 'assistant', { type: 'tool_call', id: 'c1', name: 'look', input: {} }),
      ended('c1', `${'hay '.repeat(1000)}a pin ${'hay '.repeat(1000)}`),
      turn('a2', 'assistant', text('In the hay.')),
    ])
    const page = await openSession(browser(), served, 's')
    await page.keyboard.press('Control+f')
    await page.getByRole('searchbox').fill('needle')
    const count = page.locator('.find-bar [role=status]')
    await eventually(() => count.innerText()).toBe('1 of 1')
    await write(page, 'Go on')
    model.reply('I have another needle.')
    await eventually(() => count.innerText()).toBe('1 of 2')
    // Also what the page has cut out of the middle of a long result.
    await page.getByRole('searchbox').fill('a pin')
    await eventually(() => count.innerText()).toBe('1 of 1')
    await page.locator('[data-marked=true]', { hasText: 'look' }).waitFor()
  })
})
