import { codeOf } from '../core/errors.ts'
import { peerPackages } from '../platform/peer-packages.ts'

type Api = typeof import('@opentelemetry/api')

/**
 * The API of OpenTelemetry, as the application has installed it. Required and not imported: a bundler that meets this file on
 * the way to something else must not look for the package.
 */
export const { context, createNoopMeter, diag, DiagLogLevel, isSpanContextValid, metrics, propagation, trace }: Api =
  load()

function load(): Api {
  try {
    return peerPackages()('@opentelemetry/api') as Api
  } catch (cause) {
    const isMissing = /MODULE_NOT_FOUND$/.test(codeOf(cause) ?? '')
    throw isMissing
      ? new Error('Traces need the package @opentelemetry/api: npm install @opentelemetry/api', { cause })
      : cause
  }
}

/** `SpanKind` and `SpanStatusCode`, which are numbers in every version. */
export const spanKind = { internal: 0, client: 2 } as const
export const spanError = 2
