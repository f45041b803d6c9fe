import type { Provider } from '../core/provider.ts'
import type { Catalogue, CatalogueOverrides } from './catalogue.ts'

/** What a provider says about its models before it is asked anything: their prices and windows, loaded by the first question. */
export function priceList(
  provider: string,
  prices: CatalogueOverrides | false | undefined,
): Required<Pick<Provider, 'costOf' | 'contextWindow'>> {
  let catalogue: Catalogue | undefined
  let loading: Promise<Catalogue> | undefined
  const load = async (): Promise<Catalogue> => {
    const { createCatalogue } = await import('./catalogue.ts')
    catalogue = createCatalogue(prices === false ? { prices } : prices)
    return catalogue
  }
  return {
    costOf(model, usage) {
      if (catalogue) return catalogue.costOf(provider, model, usage)
      loading ??= load()
      return loading.then((loaded) => loaded.costOf(provider, model, usage))
    },
    async contextWindow(model) {
      loading ??= load()
      return (await (await loading).modelInfo(provider, model))?.contextWindow
    },
  }
}
