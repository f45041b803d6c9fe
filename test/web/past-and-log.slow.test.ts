import { expect } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { tool } from '../server/server-kit.ts'
import { testInTurns } from '../soak.ts'
import { inBrowser } from './browser-kit.ts'
import { eventually, openSession, serveLed, text, turn, write, writeSession } from './session-kit.ts'

const test = testInTurns(2)

inBrowser('the past, links and the log', (browser) => {
  test('WB141 in the past a failure is told, and what would change the session is not offered', async () => {
    const served = await serveLed()
    const turns = [1, 2, 3].flatMap((i) => [
      turn(`u${i}`, 'user', text(`Question ${i}`)),
      turn(`a${i}`, 'assistant', text(`Answer ${i}`)),
    ])
    await writeSession(served.store, 's', turns)
    const page = await openSession(browser(), served, 's', { mayReport: /status of 500|501/ })
    const more = page.locator('.message', { hasText: 'Question 1' })
    const items = async (): Promise<string> => {
      await more.hover()
      await more.getByRole('button', { name: 'More about this' }).click()
      const all = await page.getByRole('menu', { name: 'More about this' }).innerText()
      await page.keyboard.press('Escape')
      return all
    }
    expect(await items()).toMatch(/Retry.*Roll back.*Delete/s)
    const slider = page.getByRole('slider')
    await slider.fill('4')
    await page.getByText('as it was after entry 4').waitFor()
    expect(await items()).not.toMatch(/Retry|Roll back|Delete/)
    await page.route('**/fork', (route) => route.fulfill({ status: 500 }))
    await page.getByRole('button', { name: 'Fork from here' }).click()
    await page.getByRole('alert').filter({ hasText: 'status 500' }).waitFor()
  })

  test('WB141 the log of a session at work grows while it is looked at', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    await write(page, 'Begin')
    model.say('I begin.')
    await page.getByRole('feed').getByText('I begin.').waitFor()
    await page.goto(`${served.url}/s/s/log`)
    const entries = page.getByRole('listbox', { name: 'Entries' })
    await entries.getByText('Begin').first().waitFor()
    await eventually(() => page.locator('.log-slider').innerText()).not.toContain('reading')
    model.reply(' And end.')
    await entries.getByText(/I begin\. And end\./).waitFor()
    await entries.getByText(/completed/).waitFor()
  })

  test('WB141 a link to an entry scrolls once: when the rest was read, the place of the reader stays', async () => {
    const served = await serveLed()
    const turns = Array.from({ length: 150 }, (_, i) => [
      turn(`u${i}`, 'user', text(`Question ${i}`)),
      turn(`a${i}`, 'assistant', text(`Answer ${i}\n\n${'word '.repeat(200)}`)),
    ])
    await writeSession(served.store, 's', turns.flat())
    let letGo = (): void => {}
    const held = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const page = await openSession(browser(), served, 's')
    await page.route('**/entries?after=0*', async (route) => {
      await held
      await route.continue()
    })
    await page.goto(`${served.url}/s/s#200`)
    await page.reload()
    await page.locator('[data-marked=true]').waitFor()
    const feed = page.getByRole('feed')
    await page.waitForTimeout(500) // it stands in its place
    await feed.evaluate((view) => view.scrollBy(0, 3000))
    await eventually(() => page.locator('[data-marked=true]').count()).toBe(0)
    const inSight = (): Promise<string> =>
      feed.evaluate((view) => {
        const { top } = view.getBoundingClientRect()
        const slots = [...view.querySelectorAll<HTMLElement>('.slot')]
        return slots.find((one) => one.getBoundingClientRect().bottom > top + 5)!.dataset.key!
      })
    await page.waitForTimeout(300)
    const before = await inSight()
    letGo()
    await eventually(() => feed.evaluate((view) => view.scrollHeight > 30_000)).toBe(true)
    await page.waitForTimeout(300)
    expect(await inSight()).toBe(before)
  })

  test('WB141 a session that is deleted leaves the lists, with what waited in it', async () => {
    const { model, ...served } = await serveLed({ tools: { save: tool('save', { gated: true }) } })
    await served.send('POST', '/v1/sessions', { id: 's', title: 'Short life' })
    const page = await openSession(browser(), served, 's', { mayReport: /404/ })
    await write(page, 'Save it')
    model.reply('Now.', [call('c1', 'save', { text: 'a' })])
    await page.getByRole('button', { name: 'Allow once' }).waitFor()
    const waiting = page.getByRole('navigation').getByRole('link', { name: /^Waiting/ })
    await eventually(() => waiting.innerText()).toMatch(/1/)
    await page.locator('.session-tools').getByRole('button', { name: 'More', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Delete …' }).click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await eventually(() => waiting.innerText()).toBe('Waiting')
    expect(await page.getByRole('link', { name: 'Short life' }).count()).toBe(0)
  })
})
