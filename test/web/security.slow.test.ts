import { request as httpRequest } from 'node:http'
import { expect, test } from 'vitest'
import { call, scripted } from '../../src/testing/index.ts'
import { listen } from '../server/http-kit.ts'
import { tool, until } from '../server/server-kit.ts'
import { inBrowser, openTab, servePage } from './browser-kit.ts'

/** An answer to a request with any Host header, which `fetch` does not allow. */
function getAs(url: string, headers: Record<string, string>): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    httpRequest(url, { headers }, (response) => {
      let text = ''
      response.on('data', (piece) => (text += piece))
      response.on('end', () => resolve({ status: response.statusCode!, text }))
    })
      .on('error', reject)
      .end()
  })
}

test('WB123 a name that was rebound to this address gets neither the page nor its files nor an answer', async () => {
  const { url } = await servePage({ provider: () => scripted() })
  const { text } = await getAs(url, {})
  const file = /src="([^"]+)"/.exec(text)![1]!
  for (const path of ['/', file, '/v1/sessions', '/healthz']) {
    const answer = await getAs(url + path, { host: 'evil.test' })
    expect([path, answer.status]).toEqual([path, 403])
    expect(answer.text).toMatch(/Host/)
  }
})

inBrowser('what other pages and forged requests get', (browser) => {
  test('WB124 a page of another origin can neither read, send, frame the page, nor use its cookie', async () => {
    const { url, link, store } = await servePage({ provider: () => scripted() })
    const other = await listen(() => new Response('<title>other</title>', { headers: { 'content-type': 'text/html' } }))
    const page = await openTab(browser(), link, { mayReport: /./ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.goto(other.url) // the same browser, with the cookie
    const tried = await page.evaluate(async (target) => {
      const outcome = (work: Promise<Response>) => work.then(({ status }) => String(status)).catch(() => 'blocked')
      const frame = document.createElement('iframe')
      const loaded = new Promise((resolve) => frame.addEventListener('load', resolve))
      frame.src = target
      document.body.append(frame)
      await loaded
      return {
        read: await outcome(fetch(`${target}/v1/sessions`, { credentials: 'include' })),
        send: await outcome(
          fetch(`${target}/v1/sessions`, {
            ...{ method: 'POST', credentials: 'include', body: '{"id":"forged"}' },
            headers: { 'content-type': 'application/json', 'x-libero': '1' },
          }),
        ),
        form: await outcome(
          fetch(`${target}/v1/sessions`, { method: 'POST', mode: 'no-cors', credentials: 'include', body: '{}' }),
        ),
        frame: frame.contentDocument === null ? 'blocked' : 'open',
      }
    }, url)
    expect(tried).toEqual({ read: 'blocked', send: 'blocked', form: '0', frame: 'blocked' })
    expect((await store.list()).sessions).toEqual([])
  })

  test('WB125 a forged digest does not allow a call, and requests without the own header change nothing', async () => {
    const publish = tool('publish', { gated: true })
    const { link, send } = await servePage({
      provider: () => scripted([call('c1', 'publish', {})], 'done'),
      tools: { publish },
    })
    await send('POST', '/v1/sessions', { id: 's', message: 'Publish it' })
    await until(async () => (await send('GET', '/v1/pending')).body.pending.length === 1)
    const page = await openTab(browser(), link, { mayReport: /40\d|42\d/ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    const statuses = await page.evaluate(async () => {
      const post = async (headers: Record<string, string>, digest: string) =>
        (
          await fetch('/v1/sessions/s/answers/c1', {
            ...{ method: 'POST', body: JSON.stringify({ decision: 'allow', digest }) },
            headers: { 'content-type': 'application/json', ...headers },
          })
        ).status
      return [await post({ 'x-libero': '1' }, '0'.repeat(64)), await post({}, '0'.repeat(64))]
    })
    expect(statuses).toEqual([409, 403])
    expect((await send('GET', '/v1/pending')).body.pending).toHaveLength(1)
  })

  test('WB126 the policy of the page stops what a script or a text would add to it', async () => {
    const { link } = await servePage({ provider: () => scripted() })
    const page = await openTab(browser(), link, { mayReport: /policy|Content Security|Trusted|violates/ })
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    const outcome = await page.evaluate(async () => {
      const script = document.createElement('script')
      const failed = (work: () => void): string => {
        try {
          work()
          return 'done'
        } catch (error) {
          return (error as Error).name
        }
      }
      const image = new Image()
      const refused = new Promise((resolve) => image.addEventListener('error', () => resolve('refused')))
      image.src = 'https://evil.test/x.png'
      return {
        script: failed(() => (script.textContent = 'globalThis.ran = true')),
        html: failed(() => (document.body.innerHTML = '<img src=x onerror="globalThis.ran = true">')),
        image: await refused,
        fetched: await fetch('https://evil.test').catch(() => 'refused'),
        ran: 'ran' in globalThis,
      }
    })
    expect(outcome).toEqual({
      ...{ script: 'TypeError', html: 'TypeError' },
      ...{ image: 'refused', fetched: 'refused', ran: false },
    })
    expect(page.problems.some((text) => text.startsWith('policy: '))).toBe(true)
  })
})
