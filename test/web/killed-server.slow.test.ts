import { join } from 'node:path'
import { expect, test } from 'vitest'
import { killableServer } from '../server/killable-server.ts'
import { token } from '../server/server-kit.ts'
import { sampleOf } from '../soak.ts'
import { temporary } from '../temporary.ts'
import { inBrowser, type OpenedPage, openTab } from './browser-kit.ts'

/** The numbers of the entries that one prompt writes, on top of those of the session itself. */
const events = Array.from({ length: 12 }, (_, i) => i + 1)

inBrowser('a server that is killed', (browser) => {
  test('WB129 the server is killed at each event of a run: the page ends with what a fresh one shows', {
    timeout: 300_000,
  }, async () => {
    const server = killableServer(join(await temporary('web-'), 's.sqlite'))
    await server.start()
    const post = (path: string, body: object, key: string): Promise<Response> =>
      fetch(server.url + path, {
        ...{ method: 'POST', body: JSON.stringify(body) },
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': key },
      })
    const mayReport = /ERR_|Failed to (load|fetch)/
    const page = await openTab(browser(), `${server.url}/#token=${token}`, { mayReport })
    const fresh = await openTab(browser(), `${server.url}/#token=${token}`, { mayReport })
    await fresh.getByRole('heading', { name: 'Sessions' }).waitFor()
    for (const at of sampleOf(events, 2)) {
      const id = `killed-at-${at}`
      await post('/v1/sessions', { id, title: id }, `make-${id}`)
      await page.goto(`${server.url}/s/${id}`)
      await page.getByRole('textbox', { name: 'Message' }).waitFor()
      const { head } = await headOf(server.url, id)
      await post(`/v1/sessions/${id}/messages`, { content: 'Look around' }, id)
      while ((await headOf(server.url, id)).head < head + at && !(await isOver(server.url, id)));
      await server.kill()
      await server.start()
      await expect.poll(() => isOver(server.url, id), { timeout: 60_000 }).toBe(true)
      await fresh.goto(`${server.url}/s/${id}`)
      await expect.poll(() => rowsOf(fresh), { timeout: 30_000 }).toContain('nine ten')
      // The page is on its way to the end, and the other one may be too.
      const areEqual = async (): Promise<boolean> => (await rowsOf(page)) === (await rowsOf(fresh))
      await expect.poll(areEqual, { message: `killed at ${at}`, timeout: 30_000 }).toBe(true)
      const shown = await rowsOf(fresh)
      expect(await rowsOf(page)).toBe(shown)
      expect(shown.match(/Look around/g)).toHaveLength(1)
    }
  })
})

async function headOf(url: string, id: string): Promise<{ head: number; status: string; attention?: string }> {
  const response = await fetch(`${url}/v1/sessions/${id}`, { headers: { authorization: `Bearer ${token}` } })
  return (await response.json()) as { head: number; status: string }
}

async function isOver(url: string, id: string): Promise<boolean> {
  const { status, attention, head } = await headOf(url, id)
  return status === 'idle' && attention === undefined && head > 4
}

/** The conversation as it is shown, without the times. */
const rowsOf = async (page: OpenedPage): Promise<string> =>
  (await page.getByRole('feed').innerText())
    .replace(/\b(just now|now|\d+(\.\d+)? (s|ms|min ago))\b/g, '')
    .replace(/\s+/g, ' ')
