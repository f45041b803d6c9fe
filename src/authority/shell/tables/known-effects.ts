import type { EffectFact } from '../../judged-call.ts'
import type { ReadCommand } from '../reading.ts'
import { isPattern, locator, type ShellLocation } from '../shell-location.ts'
import type { Word } from './flags.ts'
import { gitVerb } from './git.ts'

/** The known effects of a command that no table passed: what it writes, whether it sends. `unknown` if nothing is known. */
export function knownEffects(
  program: string,
  given: readonly Word[],
  command: ReadCommand,
  location: ShellLocation,
): EffectFact[] {
  const texts = given.map(({ text }) => text)
  const where = locator(command.cwd, location)
  const written = writtenBy(program, texts)
  const isNetwork = usesNetwork(program, texts)
  const effects: EffectFact[] = [...new Set(readBy(program, texts))].map((path) => ({
    effect: 'fs.read',
    ...where(path),
  }))
  for (const path of new Set(written))
    effects.push({ effect: 'fs.write', ...where(path), ...(isPattern(path) && { isOutside: true }) })
  if (written?.length === 0) effects.push({ effect: 'fs.write', isOutside: true })
  if (isNetwork)
    effects.push(
      ...hostsIn(texts).map((target): EffectFact => ({ effect: 'net', ...(target !== undefined && { target }) })),
    )
  if (!(written || isNetwork) || runsMore(program, texts)) effects.push({ effect: 'unknown' })
  return effects
}

/** Words that look like files: not flags, addresses or sentences. */
function readBy(program: string, texts: readonly string[]): string[] {
  if (program === 'dd') return texts.filter((text) => text.startsWith('if=')).map((text) => text.slice(3))
  // `-d@file`, `--data=@file`, `-T/file`: the file to send follows the flag directly.
  const sent = /^(curl|wget)$/.test(program)
    ? texts.flatMap((text) => /(?:@|^--?[\w-]*=?)([~/.][^\s]*)$/.exec(text)?.[1] ?? [])
    : []
  return [...sent, ...texts].filter((text) => /^[^\s-]\S*$/.test(text) && /[./~]/.test(text) && !text.includes('://'))
}

/** The paths it writes; none if they are not evident; undefined if it is not known to write. */
function writtenBy(program: string, texts: readonly string[]): string[] | undefined {
  const plain = texts.filter((text) => !/^-./.test(text))
  const after = (flag: RegExp): string[] =>
    texts.flatMap((text, at) => {
      const found = flag.exec(text)
      if (!found) return []
      const value = text.slice(found[0].length).replace(/^=/, '')
      return [value === '' ? (texts[at + 1] ?? '') : value]
    })
  if (/^(rm|rmdir|unlink|mkdir|touch|tee|truncate|shred|mv|mkfifo)$/.test(program))
    return [...plain, ...after(/^--target-directory/)]
  if (/^(cp|ln|install|rsync|scp)$/.test(program)) return [...plain.slice(-1), ...after(/^(-t|--target-directory)/)]
  if (/^(chmod|chown|chgrp)$/.test(program))
    return texts.some((text) => text.startsWith('--reference')) ? plain : plain.slice(1)
  if (program === 'dd') return texts.filter((text) => text.startsWith('of=')).map((text) => text.slice(3))
  if (program === 'sed' && texts.some((text) => /^(-[nErsuz]*i|--in-place)/.test(text))) return plain.slice(1)
  if (program === 'sort' && texts.some((text) => /^(-[a-zA-Z]*o|--o)/.test(text)))
    return after(/^(-[a-zA-Z]*?o|--output)/)
  if (program === 'uniq' || program === 'xxd') return plain.length > 1 ? plain.slice(-1) : undefined
  if (program === 'find' && texts.includes('-delete'))
    return plain[0] === undefined || texts[0]!.startsWith('-') ? ['.'] : [plain[0]]
  if (program === 'git') return isGitWriter(texts) ? ['.'] : undefined
  if (/^(npm|pnpm|yarn|bun)$/.test(program))
    return /^(i|install|ci|add|update|up|upgrade|uninstall|remove|rm|link|init|dedupe|version|pkg|audit)$/.test(
      texts[0] ?? 'install',
    )
      ? ['.']
      : undefined
  if (program === 'curl')
    return texts.some((text) => /^(-[a-zA-Z]*[oOJ]|--(output|remote))/.test(text))
      ? after(/^(-o|--output)$/)
      : undefined
  if (program === 'wget') return []
  return /^(mktemp|patch|tar|unzip|zip|gzip|gunzip|split|csplit|mkfs.*|wipefs|fdisk|parted)$/.test(program)
    ? []
    : undefined
}

function isGitWriter(texts: readonly string[]): boolean {
  const { verb, rest } = gitVerb(texts.map((text) => ({ text, isGlob: false })))
  if (/^(branch|tag|remote|stash)$/.test(verb)) return rest.length > 0 || verb === 'stash'
  return /^(add|am|apply|bisect|checkout|cherry-pick|clean|clone|commit|config|fetch|gc|init|merge|mv|notes|prune|pull|push|rebase|reset|restore|revert|rm|sparse-checkout|submodule|switch|update-index|update-ref|worktree)$/.test(
    verb,
  )
}

const networkVerbs: Readonly<Record<string, RegExp>> = {
  git: /^(fetch|pull|push|clone|ls-remote|submodule|archive|send-email)$/,
  npm: /^(i|install|ci|add|update|up|upgrade|publish|unpublish|outdated|view|info|show|search|audit|ping|login|logout|whoami|exec|x|init|create|dist-tag|access|fund|token|owner|team|org|star|deprecate)$/,
  pnpm: /^(i|install|add|update|up|publish|outdated|dlx|audit|fetch)$/,
  yarn: /^(install|add|upgrade|up|publish|outdated|dlx|audit)?$/,
  bun: /^(i|install|add|update|x|publish|create)$/,
  pip: /^(install|download|index|search|wheel)$/,
  pip3: /^(install|download|index|search|wheel)$/,
  uv: /^(pip|add|sync|tool|run|lock|python)$/,
  cargo: /^(install|fetch|add|update|publish|search|login|build|run|test)$/,
  go: /^(get|install|mod|run|build|test)$/,
  gem: /^(install|update|push|fetch|search)$/,
  docker: /^(pull|push|run|build|login|search|compose|buildx)$/,
  gh: /./,
}

function usesNetwork(program: string, texts: readonly string[]): boolean {
  if (
    /^(curl|wget|ssh|scp|sftp|rsync|nc|ncat|netcat|socat|telnet|ftp|tftp|ping6?|traceroute|tracepath|mtr|nslookup|dig|host|whois|drill|resolvectl|getent|nmap|openssl|apt|apt-get|yum|dnf|apk|brew|pacman|snap|npx|bunx|pnpx|uvx|pipx|aws|gcloud|az|kubectl|helm|mail|sendmail)$/.test(
      program,
    )
  ) {
    return true
  }
  if (!Object.hasOwn(networkVerbs, program)) return false
  const verb =
    program === 'git'
      ? gitVerb(texts.map((text) => ({ text, isGlob: false }))).verb
      : (texts.find((text) => !text.startsWith('-')) ?? '')
  const isRemoteQuestion =
    program === 'git' && verb === 'remote' && /^(show|update|prune)$/.test(texts.at(texts.indexOf('remote') + 1) ?? '')
  return isRemoteQuestion || networkVerbs[program]!.test(verb)
}

function hostsIn(texts: readonly string[]): (string | undefined)[] {
  const hosts = texts.flatMap(
    (text) => /^[a-z][a-z+.-]*:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(text)?.[1]?.toLowerCase() ?? [],
  )
  return hosts.length === 0 ? [undefined] : hosts
}

/** Programs that write or send, and may run other programs too. */
function runsMore(program: string, texts: readonly string[]): boolean {
  if (program === 'find') return texts.some((text) => /^-(exec|ok)/.test(text))
  return !/^(rm|rmdir|unlink|mkdir|touch|tee|truncate|shred|mv|mkfifo|cp|ln|install|chmod|chown|chgrp|dd|mktemp|uniq|xxd|ping6?|nslookup|dig|host|whois|curl|wget)$/.test(
    program,
  )
}
