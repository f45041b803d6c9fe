import { programEnv } from '../platform/program-path.ts'

/** Opens an address in the browser of this machine. Rejects if there is no program for that. */
export async function openBrowser(url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const [command, args] = openerFor(process.platform, url)
  const env = programEnv()
  const child = spawn(command, args, { detached: true, stdio: 'ignore', shell: false, env })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  child.unref()
}

/** The program that opens an address, and its arguments. The address is one argument, and no shell is involved. */
export function openerFor(
  platform: string,
  url: string,
  windows = process.env.SystemRoot ?? 'C:\\Windows',
): readonly [command: string, args: string[]] {
  const parsed = URL.parse(url)
  if (parsed?.protocol !== 'https:' && parsed?.protocol !== 'http:')
    throw new Error(`Cannot open ${url} in a browser: only http and https addresses are opened`)
  if (platform === 'darwin') return ['/usr/bin/open', [parsed.href]]
  // `start` is a shell command, and the shell would end it at a & in the address.
  if (platform === 'win32') return [`${windows}\\System32\\rundll32.exe`, ['url.dll,FileProtocolHandler', parsed.href]]
  return ['xdg-open', [parsed.href]]
}
