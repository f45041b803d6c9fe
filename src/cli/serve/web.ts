import { join } from 'node:path'
import { openBrowser } from '../../auth/open-browser.ts'
import { createWebPage } from '../../web/create-web-page.ts'
import type { WebValues } from '../commands/web.ts'
import type { Io } from '../io.ts'
import { loginLink } from './login-link.ts'
import { OneTimeCodes } from './one-time-codes.ts'
import { loopback } from './open-server.ts'
import { serveUntilStopped } from './serve.ts'

/** `libero web`: the page and the server, until a signal arrives. */
export function web({ 'no-open': staysClosed, ...values }: WebValues, io: Io): Promise<number> {
  const { 'allowed-host': hosts = [] } = values
  const codes = new OneTimeCodes()
  return serveUntilStopped(values, io, {
    portFile: join(io.home, 'web-port'),
    fetchOf: (server) => codes.loggingIn(createWebPage({ server, allowedHosts: [...loopback, ...hosts] }).fetch),
    async announce({ address, token }) {
      const link = loginLink({ address, token, host: hosts[0] })
      io.out(`open ${link}`)
      if (hosts[0] !== undefined && io.stderr.isTTY) await showQrCode(link, io) // for a phone
      if (staysClosed) return
      const once = loginLink({ address, token: codes.codeFor(token), host: hosts[0] })
      await openBrowser(once).catch((error: Error) =>
        io.err(`libero: no browser could be opened (${error.message}); open the address above yourself`),
      )
    },
  })
}

async function showQrCode(url: string, io: Io): Promise<void> {
  const { qrCode } = await import('../../tui/terminal/qr-code.ts')
  for (const row of (await qrCode(url, { hasColours: true })) ?? []) io.err(row)
}
