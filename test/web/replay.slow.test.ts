import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { exportLines } from '../../src/cli/sessions/export.ts'
import { createAgent, createMemoryStore, createSession } from '../../src/index.ts'
import { call, type Step, scripted, tool } from '../../src/testing/index.ts'
import { spawn } from '../../src/tools/spawn.ts'
import { replayPage } from '../../src/web/replay-page.ts'
import { temporary } from '../temporary.ts'
import { inBrowser, openTab } from './browser-kit.ts'
import { hostileTexts } from './hostile-texts.ts'

/** The address of the replay file of a session that did these steps. */
async function replayOf(steps: readonly Step[], prompt: string, look = () => 'seen'): Promise<string> {
  const store = createMemoryStore()
  const session = await createSession({ store, id: 'copied' })
  const agent = createAgent({ provider: scripted(...steps), session, tools: { look: tool('look', look), spawn } })
  await agent.run({ prompt })
  await session.label('the end')
  await agent.destroy()
  const path = join(await temporary('replay-'), 'session.html')
  await writeFile(path, replayPage(exportLines(store, 'copied'), { title: prompt.slice(0, 80), isRedacted: false }))
  return pathToFileURL(path).href
}

inBrowser('the replay file', (browser) => {
  test('WB130 an exported page shows the session without a server, and at any time of its life', async () => {
    const steps: Step[] = [
      [call('1', 'look', { at: 'north' })],
      [call('2', 'spawn', { task: 'Count the boats' })],
      'Two boats.',
      'A **lake** with two boats.',
    ]
    const page = await openTab(browser(), await replayOf(steps, 'What is there?'))
    const feed = page.getByRole('feed')
    await feed.getByText('A lake with two boats.').waitFor()
    await expect.poll(() => feed.innerText()).toContain('spawn')
    expect((await feed.boundingBox())!.width).toBe(1200) // as wide as the window
    await page.getByRole('button', { name: /look/ }).click()
    await feed.locator('pre', { hasText: 'seen' }).waitFor()
    const slider = page.getByRole('slider')
    await slider.fill('3')
    await expect.poll(() => feed.innerText()).not.toContain('lake')
    expect(await feed.innerText()).toContain('What is there?')
    await page.getByRole('button', { name: 'To the end' }).click()
    await feed.getByText('A lake with two boats.').waitFor()
    // A link to an entry stays in the file.
    const link = feed.getByRole('link', { name: /^Link to entry/ }).first()
    await link.click()
    await feed.locator('[data-marked=true]').waitFor()
    expect(page.url()).toMatch(/^file:.*session\.html#\d+$/)
    for (const name of ['Fork from here', 'Send', 'Why?'])
      expect(await page.getByRole('button', { name }).count()).toBe(0)
  })

  test('WB131 UI-09 hostile content in a replay file runs nothing, loads nothing and hangs nothing', async () => {
    const all = hostileTexts.join('\n\n')
    let next = 0
    const calls = hostileTexts.map((text, i) => call(`c${i}`, 'look', { path: text, command: text }))
    const address = await replayOf([calls, { thinking: all, text: all }], hostileTexts[0]!, () => hostileTexts[next++]!)
    const page = await openTab(browser(), 'about:blank')
    const outside: string[] = []
    page.on('request', (request) => {
      if (!/^(file|blob|data):/.test(request.url())) outside.push(request.url())
    })
    await page.addInitScript(() => {
      const hits: string[] = []
      Object.assign(globalThis, { hits, hit: () => void hits.push('hit'), alert: () => void hits.push('alert') })
    })
    await page.goto(address)
    const feed = page.getByRole('feed')
    await feed.waitFor()
    for (let i = 0; i < 12; i++) {
      await page.evaluate(() => {
        for (const folded of document.querySelectorAll<HTMLElement>('[role=feed] [aria-expanded=false]')) folded.click()
      })
      await feed.hover()
      await page.mouse.wheel(0, -2000)
      await page.waitForTimeout(30)
    }
    expect(await page.evaluate(() => (globalThis as unknown as { hits: string[] }).hits)).toEqual([])
    expect(outside).toEqual([])
  })
})
