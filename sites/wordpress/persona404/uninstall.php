<?php
/**
 * Leave nothing, on no site of a network.
 *
 * @package persona404
 */

defined( 'WP_UNINSTALL_PLUGIN' ) || exit;

delete_option( 'persona404' );
foreach ( is_multisite() ? get_sites( array( 'fields' => 'ids', 'number' => 0 ) ) : array() as $persona404_site ) {
	delete_blog_option( $persona404_site, 'persona404' );
}
