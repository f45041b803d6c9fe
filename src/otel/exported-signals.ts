/** What is exported by the variables of the environment, and what of them cannot be done. */
export interface ExportedSignals {
  readonly traces: Encoding | undefined
  readonly metrics: Encoding | undefined
  /** Messages for a person. */
  readonly problems: readonly string[]
}

/** The form in which a signal is sent over HTTP. */
export type Encoding = 'json' | 'protobuf'

type Env = Readonly<Record<string, string | undefined>>
type Signal = 'TRACES' | 'METRICS'

/**
 * Reads the usual variables of OpenTelemetry. Nothing is exported unless one names an exporter or an address: programs that
 * set none do not expect traffic.
 */
export function exportedSignals(env: Env): ExportedSignals {
  if (textOf(env, 'OTEL_SDK_DISABLED')?.toLowerCase() === 'true')
    return { traces: undefined, metrics: undefined, problems: [] }
  const problems: string[] = []
  const encodingOf = (signal: Signal): Encoding | undefined => {
    const read = readSignal(env, signal)
    if (typeof read === 'string') problems.push(read)
    return typeof read === 'object' ? read.encoding : undefined
  }
  return { traces: encodingOf('TRACES'), metrics: encodingOf('METRICS'), problems }
}

/** How a signal is sent, `undefined` if it is not, or what is wrong. */
function readSignal(env: Env, signal: Signal): { readonly encoding: Encoding } | string | undefined {
  const name = `OTEL_${signal}_EXPORTER`
  const exporter = textOf(env, name)
  if (exporter !== undefined && exporter !== 'otlp' && exporter !== 'none')
    return `${name} is "${exporter}", which is not supported; set it to otlp or none`
  const addresses = ['OTEL_EXPORTER_OTLP_ENDPOINT', `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]
  const isWanted =
    exporter === undefined ? addresses.some((one) => textOf(env, one) !== undefined) : exporter === 'otlp'
  if (!isWanted) return undefined
  const protocols = [`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, 'OTEL_EXPORTER_OTLP_PROTOCOL']
  const protocol = protocols.find((one) => textOf(env, one) !== undefined)
  const wanted = protocol === undefined ? 'http/json' : textOf(env, protocol)!
  const encoding = encodings.get(wanted)
  if (encoding !== undefined) return { encoding }
  return `${protocol} is "${wanted}", which is not supported; set it to http/json or http/protobuf and use the collector's HTTP port`
}

const encodings: ReadonlyMap<string, Encoding> = new Map([
  ['http/json', 'json'],
  ['http/protobuf', 'protobuf'],
])

const textOf = (env: Env, name: string): string | undefined => env[name]?.trim() || undefined
