import { expect, test } from 'vitest'
import { call } from '../../src/testing/index.ts'
import { tool, until } from '../server/server-kit.ts'
import { inBrowser } from './browser-kit.ts'
import { entriesOf, eventually, openSession, serveLed, write } from './session-kit.ts'

const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

inBrowser('the message field', (browser) => {
  test('WB69 Enter sends and steers, Alt+Enter queues, Esc stops; a queued message waits below the answer', async () => {
    const { model, ...served } = await serveLed({ tools: { look: tool('look') } })
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    const feed = page.getByRole('feed')
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.fill('First line')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('second line')
    expect(await field.inputValue()).toBe('First line\nsecond line')
    await page.keyboard.press('Enter')
    await feed.getByText('First line').waitFor()
    expect(await field.inputValue()).toBe('')
    model.say('I begin. ')
    await feed.getByText('I begin.').waitFor()
    await write(page, 'Rather this way')
    await feed.getByText('comes before the next step').waitFor()
    const attached = page.getByRole('list', { name: 'Attached' })
    const image = { name: 'shot.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') }
    await page.getByLabel('Files to attach').setInputFiles([image])
    await attached.getByText('shot.png').waitFor()
    await write(page, 'And then that', 'Alt+Enter')
    const queued = page.locator('.is-queued', { hasText: 'And then that' })
    await queued.getByText('queued', { exact: true }).waitFor()
    await queued.getByRole('button', { name: 'Edit' }).click()
    await eventually(() => field.inputValue()).toBe('And then that')
    await attached.getByText('image').waitFor()
    await eventually(() => queued.count()).toBe(0)
    await page.getByRole('button', { name: 'Queue', exact: true }).click() // as on a phone
    await queued.getByRole('button', { name: 'Take back' }).click()
    await eventually(() => queued.count()).toBe(0)
    model.end([call('c1', 'look')])
    // The steering message came before the next step; what was taken back never comes.
    await eventually(
      async () =>
        (await entriesOf(served.store, 's')).filter((one) => one.type === 'turn' && one.turn.role === 'user').length,
    ).toBe(2)
    model.say('Half an answer')
    await feed.getByText('Half an answer').waitFor()
    // Esc in the title leaves the title alone, and the run too.
    await page.getByTitle('Rename').click()
    await page.getByRole('textbox', { name: 'Title' }).press('Escape')
    await page.getByTitle('Rename').waitFor()
    expect(await page.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(1)
    await field.focus()
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Stopping' }).or(feed.getByText('Stopped')).first().waitFor()
    await feed.getByText('Interrupted here').waitFor()
    await until(async () => (await served.store.find('s'))?.status !== 'working')
    // Arrow up on the first line brings back what was sent, arrow down what was being written.
    await field.fill('a draft')
    await page.keyboard.press('Home')
    await page.keyboard.press('ArrowUp')
    await eventually(() => field.inputValue()).toBe('Rather this way')
    await page.keyboard.press('ArrowDown')
    await eventually(() => field.inputValue()).toBe('a draft')
  })

  test('WB69 a message that the server refuses keeps its text and can be sent again', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's', { mayReport: /./ })
    await page.route(/\/messages$/, (route) =>
      route.fulfill({
        status: 413,
        contentType: 'application/problem+json',
        body: JSON.stringify({ status: 413, code: 'too_large', detail: 'This is too large' }),
      }),
    )
    await write(page, 'Keep me')
    await page.getByText('Not sent: This is too large').waitFor()
    await page.unroute(/\/messages$/)
    await page.getByRole('button', { name: 'Send again' }).click()
    model.reply('Got it.')
    await page.getByRole('feed').getByText('Got it.').waitFor()
    const turns = (await entriesOf(served.store, 's')).filter((one) => one.type === 'turn')
    expect(turns).toHaveLength(2)
  })

  test('WB70 a draft survives a reload, a dead server and a closed tab', async () => {
    const served = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's', { mayReport: /./ })
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.fill('Not sent yet')
    await until(async () => (await served.send('GET', '/v1/sessions/s/draft')).body.text === 'Not sent yet')
    await page.reload()
    await eventually(() => field.inputValue()).toBe('Not sent yet')
    // Another tab has it too, and what is written there comes here.
    const other = await openSession(browser(), served, 's', { mayReport: /./ })
    const theirs = other.getByRole('textbox', { name: 'Message' })
    await eventually(() => theirs.inputValue()).toBe('Not sent yet')
    await theirs.fill('Not sent yet, and more')
    await eventually(() => field.inputValue()).toBe('Not sent yet, and more')
    await served.cut()
    await field.fill('Written without a server')
    await served.listen()
    await until(async () => (await served.send('GET', '/v1/sessions/s/draft')).body.text === 'Written without a server')
    // A message that was under way when the page went is sent by the next one, once.
    await served.cut()
    await write(page, 'Sent without a server')
    await page.getByRole('feed').getByText('Sent without a server').waitFor()
    const address = page.url()
    await page.goto('about:blank')
    await served.listen()
    await page.goto(address)
    await until(async () =>
      (await entriesOf(served.store, 's')).some((one) => JSON.stringify(one).includes('Sent without a server')),
    )
    expect(
      (await entriesOf(served.store, 's')).filter((one) => one.type === 'input' && one.mode === 'prompt').length,
    ).toBeLessThanOrEqual(1)
  })

  test('WB71 images and files come by paste, drop and button; what no model reads is refused', async () => {
    const { model, ...served } = await serveLed()
    await served.send('POST', '/v1/sessions', { id: 's' })
    const page = await openSession(browser(), served, 's')
    const image = { name: 'shot.png', mimeType: 'image/png', buffer: Buffer.from(pixel, 'base64') }
    await page
      .getByLabel('Files to attach')
      .setInputFiles([
        image,
        { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Some notes') },
        { name: 'tool.bin', mimeType: '', buffer: Buffer.from([0, 255, 254]) },
      ])
    const attached = page.getByRole('list', { name: 'Attached' })
    await attached.getByText('shot.png').waitFor()
    await page.getByText('tool.bin is neither text nor an image nor a PDF').waitFor()
    for (const kind of ['paste', 'drop'] as const)
      await page.evaluate(
        ([type, data]) => {
          const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0))
          const transfer = new DataTransfer()
          transfer.items.add(new File([bytes], `${type}.png`, { type: 'image/png' }))
          const target = document.querySelector('#message')!
          const options = { bubbles: true, cancelable: true }
          target.dispatchEvent(
            type === 'paste'
              ? new ClipboardEvent('paste', { ...options, clipboardData: transfer })
              : new DragEvent('drop', { ...options, dataTransfer: transfer }),
          )
        },
        [kind, pixel] as const,
      )
    await attached.getByText('drop.png').waitFor()
    await attached.getByText('paste.png').waitFor()
    await page.getByRole('button', { name: 'Remove drop.png' }).click()
    await write(page, 'Look at these')
    model.reply('I see.')
    await page.getByRole('feed').getByText('I see.').waitFor()
    const prompt = (await entriesOf(served.store, 's')).find((one) => one.type === 'turn')
    expect(prompt?.type === 'turn' && prompt.turn.content.map(({ type }) => type)).toEqual([
      'text',
      'image',
      'text',
      'image',
    ])
    // The page keeps no pictures, and reads them again to show them.
    await page.reload()
    await page.locator('.attached-image img').first().waitFor()
    expect(
      await page
        .locator('.attached-image img')
        .first()
        .evaluate((one) => (one as HTMLImageElement).naturalWidth),
    ).toBe(1)
    // What the page does not keep is read again before it is sent again.
    await page.locator('.message').hover()
    await page.locator('.message').getByRole('button', { name: 'More about this' }).click()
    await page.getByRole('menuitem', { name: 'Retry' }).click()
    model.reply('I see it again.')
    await page.getByRole('feed').getByText('I see it again.').waitFor()
    const prompts = (await entriesOf(served.store, 's')).flatMap((one) =>
      one.type === 'turn' && one.turn.role === 'user' ? [one.turn.content] : [],
    )
    expect(prompts).toHaveLength(2)
    expect(prompts[1]).toEqual(prompts[0])
  })
})
