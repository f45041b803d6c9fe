import { execFile } from 'node:child_process'
import { programEnv } from '../../platform/program-path.ts'
import { imageOf, mostImageBytes } from '../../platform/read-image.ts'
import type { AttachedImage } from './images.ts'

/** Runs a program and gives its output; rejects with the code ENOENT if it is not installed. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<Buffer>

interface ClipboardOptions {
  readonly platform?: NodeJS.Platform
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly run?: RunProgram
}

/** The image on the clipboard. Throws if there is none, with what each program said. */
export async function clipboardImage(options: ClipboardOptions = {}): Promise<AttachedImage> {
  const { platform = process.platform, env = process.env, run = runProgram } = options
  const problems: string[] = []
  for (const { program, args, decode = (output: Buffer) => output } of waysOf(platform, env)) {
    try {
      const read = imageOf(decode(await run(program, args)))
      if ('image' in read) return { kind: 'image', name: 'clipboard', bytes: read.bytes, image: read.image }
      problems.push(read.isTooLarge ? `the image${read.problem}` : `${program} gives no image`)
    } catch (error) {
      const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
      problems.push(isMissing ? `${program} is not installed` : `${program} gives no image`)
    }
  }
  throw new Error(`There is no image on the clipboard: ${problems.join('; ')}. A path to an image works too.`)
}

interface Way {
  readonly program: string
  readonly args: readonly string[]
  readonly decode?: (output: Buffer) => Buffer
}

function waysOf(platform: NodeJS.Platform, env: NonNullable<ClipboardOptions['env']>): readonly Way[] {
  if (platform === 'darwin') return [pngpaste, osascript]
  if (platform === 'win32') return [powershell]
  const isWsl = env.WSL_DISTRO_NAME !== undefined
  return [...(env.WAYLAND_DISPLAY ? [wlPaste, xclip] : [xclip, wlPaste]), ...(isWsl ? [powershell] : [])]
}

const wlPaste: Way = { program: 'wl-paste', args: ['--no-newline', '--type', 'image/png'] }
const xclip: Way = { program: 'xclip', args: ['-selection', 'clipboard', '-t', 'image/png', '-o'] }
const pngpaste: Way = { program: 'pngpaste', args: ['-'] }
/** Prints `«data PNGf89504E47…»`. */
const osascript: Way = {
  program: 'osascript',
  args: ['-e', 'the clipboard as «class PNGf»'],
  decode: (output) => Buffer.from(/PNGf([0-9A-F]+)/.exec(output.toString('utf8'))?.[1] ?? '', 'hex'),
}
const powershell: Way = {
  program: 'powershell.exe',
  args: [
    '-NoProfile',
    '-NonInteractive',
    '-STA',
    '-Command',
    [
      'Add-Type -AssemblyName System.Windows.Forms',
      '$image = [System.Windows.Forms.Clipboard]::GetImage()',
      'if (-not $image) { exit 1 }',
      '$stream = New-Object System.IO.MemoryStream',
      '$image.Save($stream, [System.Drawing.Imaging.ImageFormat]::Png)',
      '[Convert]::ToBase64String($stream.ToArray())',
    ].join('; '),
  ],
  decode: (output) => Buffer.from(output.toString('latin1').trim(), 'base64'),
}

/** Base64 and hex make the output longer than the image. */
const runProgram: RunProgram = (program, args) =>
  new Promise((resolve, reject) => {
    const options = { encoding: 'buffer', maxBuffer: 3 * mostImageBytes, timeout: 10_000, env: programEnv() } as const
    execFile(program, [...args], options, (error, output) => (error ? reject(error) : resolve(output)))
  })
