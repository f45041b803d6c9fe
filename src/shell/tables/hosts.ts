import { hostIn } from '../../platform/host-name.ts'

/** The hosts that a command connects to; undefined for one that its words do not tell. */
export type Hosts = readonly (string | undefined)[]

/** The hosts of a program whose flags are not known: those of all addresses, and any word that may be one makes it uncertain. */
export function hostsIn(words: readonly string[]): Hosts {
  const addresses = words.flatMap((word) => word.match(/[a-z][a-z0-9+.-]*:\/\/[^\s'"]*/gi) ?? [])
  const remotes = words.flatMap((word) => /^(?:[\w.-]+@)?([\w.-]+\.[\w.-]+|localhost):(?!\/\/)/.exec(word)?.[1] ?? [])
  const hosts = [...addresses, ...remotes].map(knownHost)
  const isOther = words.some((word) => mayBeHost.test(word) && !addresses.includes(word))
  return hosts.length === 0 || isOther ? [...hosts, undefined] : hosts
}

/** `b.test`, `b.test:80/x`, `10.0.0.1`, `[::1]`; not `./file`. */
const mayBeHost = /^(?:[\w%-]+\.)+[\w%-]+\.?(?::\d+)?(?:\/|$)|^\[|[$`]/

/** The hosts of a line of curl. With `-L` the server chooses further ones. */
export function curlHosts(words: readonly string[]): Hosts {
  const { operands, values, unknown } = readOptions(words, curlOptions)
  const hosts: (string | undefined)[] = operands.map(curlHost)
  for (const [name, value] of values) {
    if (addressed.has(name)) hosts.push(curlHost(value))
    else if (name === '--connect-to')
      hosts.push(knownHost(/^(?:\[[^\]]*\]|[^:[]*):\d*:(\[[^\]]*\]|[^:]*)/.exec(value)?.[1] ?? '$'))
    else if (name === '--resolve') hosts.push(...resolvedTo(value))
    else if (uncertain.has(name)) hosts.push(undefined)
  }
  return unknown || hosts.length === 0 ? [...hosts, undefined] : hosts
}

/** The hosts of a line of wget, which follows redirects to any other unless that is turned off. */
export function wgetHosts(words: readonly string[]): Hosts {
  const { operands, values, unknown } = readOptions(words, wgetOptions)
  const hosts = operands.map(knownHost)
  const staysThere = values.some(([name, value]) => name === '--max-redirect' && value === '0')
  const isUncertain = values.some(([name]) => /^(?:--input-file|--execute|--config|--base)$/.test(name))
  return unknown || !staysThere || isUncertain || hosts.length === 0 ? [...hosts, undefined] : hosts
}

/** curl expands `{a,b}` and `[1-3]`, and takes `http:/host` and `http:///host` for addresses. */
function curlHost(word: string): string | undefined {
  const address = word.replace(/^([a-z][a-z0-9+.-]*):\/{1,3}/i, '$1://')
  const authority = address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').replace(/[/?#].*$/s, '')
  if (/[{}]|\[(?![0-9a-f:.]*:[0-9a-f:.]*(?:%|\]))/i.test(authority)) return undefined
  return knownHost(address)
}

function knownHost(address: string): string | undefined {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: programs disagree what an address with them means
  if (/[$`\\\s\x00-\x1f*?]/.test(address.replace(/[?#].*$/s, ''))) return undefined
  return hostIn(address) || undefined
}

/** `host:port:address,address`: the addresses are connected to in place of the host. */
function resolvedTo(value: string): (string | undefined)[] {
  const addresses = /^[+-]?(?:\[[^\]]*\]|[^:]*):\d+:(.*)$/.exec(value)?.[1]
  return addresses === undefined ? [undefined] : addresses.split(',').map(knownHost)
}

interface OptionTable {
  /** The letters that take a value, and the long name of each, if it matters. */
  readonly letters: ReadonlyMap<string, string>
  readonly flags: string
  readonly long: ReadonlySet<string>
  readonly longWithValue: ReadonlySet<string>
}

interface ReadOptions {
  readonly operands: readonly string[]
  readonly values: readonly (readonly [name: string, value: string])[]
  /** An option is not known, so it is not known either what the word after it is. */
  readonly unknown: boolean
}

function readOptions(words: readonly string[], table: OptionTable): ReadOptions {
  const operands: string[] = []
  const values: [string, string][] = []
  let unknown = false
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (word === '--') {
      operands.push(...words.slice(at + 1))
      break
    }
    if (!word.startsWith('-') || word === '-') operands.push(word)
    else if (word.startsWith('--')) {
      const [name = '', value] = splitAtEqual(word)
      if (table.longWithValue.has(name)) values.push([name, value ?? words[++at] ?? ''])
      else if (!table.long.has(name.replace(/^--no-/, '--'))) unknown = true
      else values.push([name, ''])
    } else {
      for (let i = 1; i < word.length; i++) {
        const name = table.letters.get(word[i]!)
        if (name === undefined && !table.flags.includes(word[i]!)) unknown = true
        if (name === undefined) {
          values.push([`-${word[i]}`, ''])
          continue
        }
        values.push([name, word.slice(i + 1) || (words[++at] ?? '')])
        break
      }
    }
  }
  return { operands, values, unknown }
}

function splitAtEqual(word: string): [name: string, value: string | undefined] {
  const at = word.indexOf('=')
  return at < 0 ? [word, undefined] : [word.slice(0, at), word.slice(at + 1)]
}

const named = (names: string): Set<string> => new Set(names.split(/\s+/).map((name) => `--${name}`))

/** Options whose value is an address that is connected to. */
const addressed = named('url proxy preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname doh-url ipfs-gateway')
/** Options by which files, servers or expansions choose a host. */
const uncertain: ReadonlySet<string> = new Set([
  ...named(
    'location location-trusted follow config variable expand-url expand-proxy alt-svc dns-servers dns-interface ftp-port',
  ),
  '-L',
])

const curlOptions: OptionTable = {
  letters: new Map([
    ...[...'AbcCdDeEFhHmoPQrtTuUwXyYz'].map((letter) => [letter, `-${letter}`] as const),
    ['x', '--proxy'],
    ['K', '--config'],
    ['P', '--ftp-port'],
  ]),
  flags: '#0123469aBfgGiIjJklLMnNOpqRsSvV:Z',
  long: named(
    `location location-trusted follow silent show-error fail fail-with-body head include insecure verbose compressed globoff get
    remote-name remote-name-all remote-header-name http1.0 http1.1 http2 http2-prior-knowledge http3 http3-only ipv4 ipv6 next
    no-buffer buffer progress-bar progress-meter create-dirs tlsv1 tlsv1.0 tlsv1.1 tlsv1.2 tlsv1.3 sslv2 sslv3 anyauth basic
    digest ntlm negotiate netrc netrc-optional tcp-nodelay tcp-fastopen keepalive path-as-is raw disable append use-ascii list-only
    parallel parallel-immediate retry-all-errors retry-connrefused post301 post302 post303 proxytunnel proxy-insecure xattr
    remote-time remove-on-error skip-existing no-clobber clobber sessionid alpn npn styled-output trace-time trace-ids version
    suppress-connect-headers junk-session-cookies ssl ssl-reqd crlf ignore-content-length location-trusted tr-encoding fail-early`,
  ),
  longWithValue: named(
    `url proxy preproxy proxy1.0 socks4 socks4a socks5 socks5-hostname doh-url ipfs-gateway connect-to resolve config variable
    expand-url expand-proxy alt-svc dns-servers dns-interface ftp-port output output-dir header user user-agent data data-ascii
    data-binary data-raw data-urlencode json form form-string request upload-file cookie cookie-jar referer max-time
    connect-timeout retry retry-delay retry-max-time range limit-rate write-out cacert capath cert cert-type key key-type pass
    ciphers tls-max tls13-ciphers dump-header max-redirs max-filesize noproxy proxy-user proxy-header interface local-port
    stderr trace trace-ascii time-cond speed-limit speed-time oauth2-bearer aws-sigv4 proto proto-default proto-redir
    request-target url-query netrc-file unix-socket abstract-unix-socket keepalive-time parallel-max rate hsts etag-save
    etag-compare continue-at create-file-mode mail-from mail-rcpt quote expect100-timeout happy-eyeballs-timeout-ms`,
  ),
}

const wgetOptions: OptionTable = {
  letters: new Map([
    ...[...'oaOtTwQPUABDIRX'].map((letter) => [letter, `-${letter}`] as const),
    ['i', '--input-file'],
    ['e', '--execute'],
    ['B', '--base'],
  ]),
  flags: 'bdqvcNSxkKmprnHLEF46',
  long: named(
    `quiet verbose no-verbose continue timestamping server-response spider no-check-certificate check-certificate content-disposition
    recursive mirror page-requisites convert-links no-parent no-clobber no-directories force-directories adjust-extension
    show-progress progress trust-server-names https-only inet4-only inet6-only span-hosts no-host-directories random-wait`,
  ),
  longWithValue: named(
    `max-redirect input-file execute config base output-document output-file append-output directory-prefix header user-agent
    referer user password tries timeout dns-timeout connect-timeout read-timeout wait waitretry quota limit-rate post-data
    post-file body-data body-file method ca-certificate certificate private-key level accept reject domains exclude-domains
    cut-dirs load-cookies save-cookies restrict-file-names`,
  ),
}
