// The last version: the service has closed. Nothing is shown, so each site's own content stays.
console.warn("persona404: este servicio cerró; quita sus dos líneas de la página. "
  + "/ This service has closed; take its two lines out of the page.");
