<?php
/**
 * Plugin Name:       persona404
 * Description:       Shows a missing child on the site's "page not found" pages.
 * Version:           1.0.0
 * Requires at least: 5.9
 * Requires PHP:      7.2
 * License:           MIT
 * License URI:       https://spdx.org/licenses/MIT.html
 *
 * The card itself is the script of a persona404 service. This file asks for the service's address, and
 * puts the card on 404 pages:
 *
 *   classic theme: before its footer (get_footer)
 *   block theme:   before the template part "footer" (render_block)
 *   any other:     at the end of the page (wp_footer)
 *   then, unless "below" is chosen: above the first heading in <main>, where there is one
 *   [persona404]:  where somebody has written this
 *
 * @package persona404
 */

defined( 'ABSPATH' ) || exit;

const PERSONA404_CHOICES = array(
	'size'  => array( '', 'small' ),
	'theme' => array( '', 'light', 'dark' ),
	'lang'  => array( '', 'es', 'en', 'pt', 'it', 'fr' ),
	'place' => array( '', 'below' ),
);
const PERSONA404_MARK    = '<!-- persona404 -->'; // Around a card that may be moved.

/**
 * A text in the language of whoever reads it: Spanish, Portuguese or English.
 *
 * @param string $name Its name.
 */
function persona404_text( $name ) {
	$texts    = array(
		'address'        => array( 'Dirección del servicio', 'Endereço do serviço', 'Address of the service' ),
		'address-about'  => array( 'La dirección o la línea que te dio quien mantiene el servicio, como https://personas.example.org. Sin ella no se muestra nada.', 'O endereço ou a linha que recebeu de quem mantém o serviço, como https://personas.example.org. Sem ele, nada é mostrado.', 'The address or the line that you got from whoever runs the service, such as https://personas.example.org. Without it, nothing is shown.' ),
		'locked'         => array( 'Solo puede cambiarla quien tiene el permiso unfiltered_html.', 'Só pode alterá-lo quem tem a permissão unfiltered_html.', 'Only who has the capability unfiltered_html can change it.' ),
		'size'           => array( 'Tamaño', 'Tamanho', 'Size' ),
		'size-'          => array( 'Completa', 'Completo', 'Full' ),
		'size-small'     => array( 'Pequeña', 'Pequeno', 'Small' ),
		'theme'          => array( 'Colores', 'Cores', 'Colours' ),
		'theme-'         => array( 'Como el sitio', 'Como o site', "The site's own" ),
		'theme-light'    => array( 'Claros', 'Claras', 'Light' ),
		'theme-dark'     => array( 'Oscuros', 'Escuras', 'Dark' ),
		'lang'           => array( 'Idioma', 'Idioma', 'Language' ),
		'lang-'          => array( 'El del sitio', 'O do site', "The site's own" ),
		'lang-es'        => array( 'Español', 'Espanhol', 'Spanish' ),
		'lang-en'        => array( 'Inglés', 'Inglês', 'English' ),
		'lang-pt'        => array( 'Portugués', 'Português', 'Portuguese' ),
		'lang-it'        => array( 'Italiano', 'Italiano', 'Italian' ),
		'lang-fr'        => array( 'Francés', 'Francês', 'French' ),
		'place'          => array( 'Lugar en la página', 'Lugar na página', 'Place on the page' ),
		'place-'         => array( 'Arriba del título', 'Acima do título', 'Above the heading' ),
		'place-below'    => array( 'Antes del pie de página', 'Antes do rodapé', 'Before the footer' ),
		'region'         => array( 'Región preferida', 'Região preferida', 'Preferred region' ),
		'region-about'   => array( 'Como la escribe el registro, por ejemplo Salta. Puede quedar vacía.', 'Como o registro a escreve, por exemplo Salta. Pode ficar vazia.', 'As the register writes it, such as Salta. It may be empty.' ),
		'preview'        => array( 'Vista previa: tu página 404', 'Pré-visualização: sua página 404', 'Preview: your 404 page' ),
		'refused'        => array( 'No se guardó nada:', 'Nada foi salvo:', 'Nothing was saved:' ),
		'not-address'    => array( 'ese texto no contiene una dirección.', 'esse texto não contém um endereço.', 'there is no address in that text.' ),
		'not-https'      => array( 'la dirección debe empezar con https://.', 'o endereço deve começar com https://.', 'the address must begin with https://.' ),
		'is-example'     => array( 'esa es la dirección del ejemplo. Pide la tuya a quien mantiene el servicio.', 'esse é o endereço do exemplo. Peça o seu a quem mantém o serviço.', 'that is the example. Ask whoever runs the service for yours.' ),
		'no-name'        => array( 'ese nombre no existe (DNS). Revisa cómo está escrito.', 'esse nome não existe (DNS). Verifique como está escrito.', 'that name does not exist (DNS). Check the spelling.' ),
		'no-trust'       => array( 'no se aceptó el certificado de esa dirección.', 'o certificado desse endereço não foi aceito.', 'the certificate of that address was not accepted.' ),
		'no-answer'      => array( 'esa dirección no responde.', 'esse endereço não responde.', 'that address does not answer.' ),
		'no-service'     => array( 'en esa dirección no hay un servicio persona404.', 'nesse endereço não há um serviço persona404.', 'there is no persona404 service at that address.' ),
		'no-choice'      => array( 'elige una de las opciones.', 'escolha uma das opções.', 'choose one of the options.' ),
	);
	$language = array_search( substr( get_user_locale(), 0, 2 ), array( 'es', 'pt' ), true );
	return $texts[ $name ][ false === $language ? 2 : $language ];
}

/**
 * The settings in an array of any form: the service's address, the card's attributes and its place.
 *
 * @param mixed $fields What was stored or sent; "" stands for what is missing.
 */
function persona404_fields( $fields ) {
	$empty = array_fill_keys( array( 'address', 'place', 'size', 'theme', 'lang', 'region' ), '' );
	return shortcode_atts( $empty, array_filter( (array) $fields, 'is_string' ) );
}

/**
 * What is set.
 */
function persona404_options() {
	return persona404_fields( get_option( 'persona404' ) );
}

// --- The card ------------------------------------------------------------------------

/**
 * The card's element and its script, once on a 404 page; "" without an address.
 */
function persona404_card() {
	static $shown = false;
	$options      = persona404_options();
	if ( '' === $options['address'] || ( $shown && is_404() ) ) {
		return '';
	}
	$shown      = true;
	$attributes = '';
	foreach ( array( 'size', 'theme', 'lang', 'region' ) as $name ) {
		if ( '' !== $options[ $name ] ) {
			$attributes .= sprintf( ' data-%s="%s"', $name, esc_attr( $options[ $name ] ) );
		}
	}
	$script = array(
		'src'   => esc_url( $options['address'] . '/embed.js' ),
		'async' => true, // WordPress before 6.3 cannot enqueue such a script.
	);
	// A margin of 1rem on a telephone, unless the theme's own is wider.
	$style = 'margin-inline:auto;max-width:min(100%,100vw - 2rem)';
	return "<div data-persona404$attributes style=\"$style\"></div>" . wp_get_script_tag( $script );
}

/**
 * The card on a 404 page, between marks; "" elsewhere.
 */
function persona404_marked() {
	$card = is_404() ? persona404_card() : '';
	return '' === $card ? '' : PERSONA404_MARK . $card . PERSONA404_MARK;
}

/**
 * Print the card on a 404 page.
 */
function persona404_print() {
	echo persona404_marked(); // phpcs:ignore WordPress.Security.EscapeOutput -- it is escaped there.
}

/**
 * Put the card before a block theme's footer.
 *
 * @param string $html  The rendered template part.
 * @param array  $block Its block.
 */
function persona404_before_footer( $html, $block ) {
	return in_array( 'footer', $block['attrs'], true ) ? persona404_marked() . $html : $html;
}

/**
 * Keep a 404 page until it is complete: classic themes have no hook before the heading.
 */
function persona404_keep() {
	if ( is_404() && '' === persona404_options()['place'] ) {
		ob_start( 'persona404_move' );
	}
}

/**
 * Move the card above the first heading inside <main>. Without one it stays where it is.
 *
 * @param string $page The page's HTML.
 */
function persona404_move( $page ) {
	$parts = explode( PERSONA404_MARK, $page );
	if ( 3 !== count( $parts ) ) {
		return $page;
	}
	list( $before, $card, $after ) = $parts;
	if ( false !== strpos( $before . $after, 'data-persona404' ) ) { // The template has one of its own.
		return $before . $after;
	}
	$unseen = '(?:<!--.*?-->|<(script|style|template|noscript)\b.*?</\1\s*>)(*SKIP)(*FAIL)';
	preg_match_all( "~$unseen|<(?:/?main|h[1-6])(?=[\s>])~is", $before, $tags, PREG_OFFSET_CAPTURE );
	$inside = false;
	foreach ( $tags[0] as list( $tag, $at ) ) {
		if ( 'h' !== strtolower( $tag[1] ) ) {
			$inside = '/' !== $tag[1];
		} elseif ( $inside ) {
			return substr_replace( $before, $card, $at, 0 ) . $after;
		}
	}
	return $before . $card . $after;
}

add_shortcode( 'persona404', 'persona404_card' );
add_action( 'template_redirect', 'persona404_keep', 99 ); // After plugins that redirect or say 404.
add_action( 'get_footer', 'persona404_print' );
add_filter( 'render_block_core/template-part', 'persona404_before_footer', 10, 2 );
add_action( 'wp_footer', 'persona404_print', 5 );

// --- The settings --------------------------------------------------------------------

/**
 * The address in what was typed or pasted, such as the script's line; "" if there is none.
 *
 * @param string $text What was typed.
 */
function persona404_address( $text ) {
	if ( preg_match( '~\ssrc=["\']?([^\s"\'>]+)~i', $text, $script ) ) {
		$text = $script[1];
	}
	// After http:// or https:// anywhere in the text, else a name with a dot at its beginning.
	$pattern = '~^(?:.*?(https?)://|[^\pL\pN]*(?=[a-z0-9-]+\.))([a-z0-9.-]*[a-z0-9](?::\d+)?)(?![\pL\pN:@_-])~isu';
	return preg_match( $pattern, $text, $found ) ? strtolower( ( $found[1] ? $found[1] : 'https' ) . "://$found[2]" ) : '';
}

/**
 * Why a new address cannot be used, in words; "" if a persona404 service answers there.
 *
 * @param string $address What persona404_address() found.
 */
function persona404_fault( $address ) {
	if ( 0 !== strpos( $address, 'https:' ) ) {
		return persona404_text( '' === $address ? 'not-address' : 'not-https' );
	}
	if ( 'https://personas.example.org' === $address ) {
		return persona404_text( 'is-example' );
	}
	$asked  = array(
		'redirection'         => 0,
		'limit_response_size' => 10000,
	);
	$answer = wp_remote_get( "$address/api/stats", $asked );
	if ( is_wp_error( $answer ) ) {
		$said = $answer->get_error_message();
		$name = preg_match( '~certificate~i', $said ) ? 'no-trust' : 'no-answer';
		$name = preg_match( '~resolve host|getaddrinfo~i', $said ) ? 'no-name' : $name;
		return persona404_text( $name ) . " ($said)";
	}
	$code  = wp_remote_retrieve_response_code( $answer );
	$stats = json_decode( wp_remote_retrieve_body( $answer ), true );
	return 200 === $code && isset( $stats['active'] ) ? '' : persona404_text( 'no-service' ) . " ($address/api/stats: HTTP $code)";
}

/**
 * What may be saved of what was sent; what is stored already, if something is wrong.
 *
 * @param mixed $sent The form's fields.
 */
function persona404_check( $sent ) {
	global $wp_settings_errors;
	$options = persona404_options();
	$typed   = persona404_fields( $sent );
	foreach ( $typed as $name => $text ) {
		$new[ $name ] = mb_substr( sanitize_text_field( $text ), 0, 200 );
	}
	$new['address'] = persona404_address( $typed['address'] );
	if ( ! current_user_can( 'unfiltered_html' ) ) { // Who may not write scripts may not choose one.
		$new['address'] = $options['address'];
	}
	// A service that is down now keeps nobody from changing the colours.
	$is_new = '' !== trim( $typed['address'] ) && $new['address'] !== $options['address'];
	$fault  = $is_new ? persona404_fault( $new['address'] ) : '';
	foreach ( PERSONA404_CHOICES as $name => $choices ) {
		$fault = in_array( $new[ $name ], $choices, true ) ? $fault : persona404_text( 'no-choice' );
	}
	if ( '' === $fault ) {
		return $new;
	}
	add_settings_error( 'persona404', 'refused', esc_html( persona404_text( 'refused' ) . " $fault" ) );
	$wp_settings_errors[ count( $wp_settings_errors ) - 1 ]['typed'] = $typed; // For the form.
	return $options;
}

/**
 * The page below Settings: what is set, or what was refused.
 */
function persona404_page() {
	$options = persona404_options();
	$refused = get_settings_errors( 'persona404' );
	$locked  = ! current_user_can( 'unfiltered_html' );
	echo '<div class="wrap"><h1>persona404</h1><form method="post" action="options.php">';
	settings_fields( 'persona404' );
	echo '<table class="form-table" role="presentation">';
	foreach ( $refused[0]['typed'] ?? $options as $name => $value ) {
		printf( '<tr><th scope="row"><label for="persona404-%1$s">%2$s</label></th><td>', esc_attr( $name ), esc_html( persona404_text( $name ) ) );
		if ( isset( PERSONA404_CHOICES[ $name ] ) ) {
			printf( '<select id="persona404-%1$s" name="persona404[%1$s]">', esc_attr( $name ) );
			foreach ( PERSONA404_CHOICES[ $name ] as $choice ) {
				printf( '<option value="%s"%s>%s</option>', esc_attr( $choice ), selected( $value, $choice, false ), esc_html( persona404_text( "$name-$choice" ) ) );
			}
			echo '</select>';
		} else {
			$is_locked = $locked && 'address' === $name;
			printf( '<input id="persona404-%1$s" name="persona404[%1$s]" value="%2$s" class="regular-text"%3$s>', esc_attr( $name ), esc_attr( $value ), $is_locked ? ' readonly' : '' );
			printf( '<p class="description">%s</p>', esc_html( persona404_text( $is_locked ? 'locked' : "$name-about" ) ) );
		}
		echo '</td></tr>';
	}
	echo '</table>';
	submit_button();
	echo '</form>';
	if ( '' !== $options['address'] ) {
		printf( '<p><a href="%s" target="_blank">%s</a></p>', esc_url( home_url( '/?p=2147483647' ) ), esc_html( persona404_text( 'preview' ) ) );
	}
	echo '</div>';
}

/**
 * Say which option there is and who checks it, and add the page to the menu.
 */
function persona404_menu() {
	register_setting( 'persona404', 'persona404', array( 'sanitize_callback' => 'persona404_check' ) );
	add_options_page( 'persona404', 'persona404', 'manage_options', 'persona404', 'persona404_page' );
}

/**
 * Add a link to the page to the list of plugins.
 *
 * @param array $links The plugin's links.
 */
function persona404_links( $links ) {
	$link = sprintf( '<a href="%s">%s</a>', esc_url( admin_url( 'options-general.php?page=persona404' ) ), esc_html__( 'Settings' ) );
	return array_merge( array( $link ), $links );
}

add_action( 'admin_menu', 'persona404_menu' );
add_filter( 'plugin_action_links_' . plugin_basename( __FILE__ ), 'persona404_links' );
